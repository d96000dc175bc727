"""Compiles a golden model two ways and compares the bits of everything that a trace shows.

usage: same_bits.py FOLDER --work DIR [--compile-option OPTION]... [--against OPTION]...

The first way has the options of --compile-option, the second those of --against (default
--fusion=off). Exit 1 where a tensor differs, with its name.
"""
import argparse
import shutil
import sys
from pathlib import Path

import tensors


def traced(arguments, name, options):
    golden = tensors.read(arguments.folder / "golden.safetensors")
    prompt = tensors.write_prompt(arguments.work / "prompt", golden["input_ids"][1])
    artifact = tensors.compile_model(arguments.folder, arguments.work / name, *options)
    return tensors.trace(artifact, prompt, arguments.work / (name + ".trace"), "--greedy", 8)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--compile-option", action="append", default=[])
    parser.add_argument("--against", action="append", default=[])
    arguments = parser.parse_args()
    shutil.rmtree(arguments.work, ignore_errors=True)
    arguments.work.mkdir(parents=True)
    one = traced(arguments, "one", arguments.compile_option)
    other = traced(arguments, "other", arguments.against or ["--fusion=off"])
    if one.keys() != other.keys():
        sys.exit(f"one shows {sorted(one)}, the other {sorted(other)}")
    differing = [name for name in one
                 if list(one[name][0]) != list(other[name][0])
                 or one[name][1].tobytes() != other[name][1].tobytes()]
    if differing:
        sys.exit(f"{arguments.folder.name}: bits differ in {', '.join(differing)}")
    print(f"{arguments.folder.name}: {len(one)} tensors with the same bits")


if __name__ == "__main__":
    main()
