"""Compiles a model two ways and compares the bits of everything that a trace shows.

usage: same_bits.py FOLDER|CASE --work DIR [--compile-option OPTION]... [--against OPTION]...

FOLDER holds a model and golden.safetensors, CASE is one of test/Inputs/families. The first way has the options of --compile-option, the second those of --against (default
--fusion=off). Exit 1 where a tensor differs, with its name.
"""
import argparse
import shutil
import sys
from pathlib import Path

import families
import tensors


def model_and_ids(arguments):
    if arguments.folder.is_dir():
        golden = tensors.read(arguments.folder / "golden.safetensors")
        return arguments.folder, list(golden["input_ids"][1])
    model = arguments.work / "model"
    return model, families.write(arguments.folder.name, model)["prompt"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--compile-option", action="append", default=[])
    parser.add_argument("--against", action="append", default=[])
    arguments = parser.parse_args()
    shutil.rmtree(arguments.work, ignore_errors=True)
    arguments.work.mkdir(parents=True)
    model, ids = model_and_ids(arguments)
    prompt = tensors.write_prompt(arguments.work / "prompt", ids)

    def traced(name, options):
        artifact = tensors.compile_model(model, arguments.work / name, *options)
        return tensors.trace(artifact, prompt, arguments.work / (name + ".trace"), "--greedy", 4)

    one = traced("one", arguments.compile_option)
    other = traced("other", arguments.against or ["--fusion=off"])
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
