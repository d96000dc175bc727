"""Observes every value of a model: programs compile, fused or not, and show the same bits.

usage: observed.py FOLDER|CASE --work DIR [--alone COUNT]

Once all values at a time, of which no fusion can keep one for itself, and a few alone, as somebody
does who looks for a mistake. Exit 1 where a program does not compile or a tensor differs.
"""
import argparse
import random
import re
import shutil
import sys
from pathlib import Path

import families
import tensors

INDEX = re.compile(r"\s*\^bb0\((%\w+): index")
RESULTS = re.compile(r"    (%\w+)(?::\d+)? = .* -> (.*)$")
ROWS = re.compile(r"tensor<\?x[0-9x]*xf32>$")


def types_of(text):
    """The types of a list with or without parentheses."""
    depth, types, word = 0, [], ""
    for letter in text.removeprefix("(").removesuffix(")"):
        depth += (letter in "<[(") - (letter in ">])")
        if letter == "," and not depth:
            types.append(word.strip())
            word = ""
        else:
            word += letter
    return types + [word.strip()]


def places(lines):
    """(name, line, value, type, index of the layer) of every result with rows, in the generic form"""
    index = None
    for at, line in enumerate(lines):
        if line.lstrip().startswith("^bb0"):
            layer = INDEX.match(line)
            index = layer and layer[1]
        results = RESULTS.match(line)
        types = types_of(results[2]) if results else []
        for i, kind in enumerate(types):
            if ROWS.match(kind):
                value = results[1] if len(types) == 1 else f"{results[1]}#{i}"
                yield f"value.{at}.{i}", at, value, kind, index


def observed(lines, chosen):
    behind = {}
    for name, at, value, kind, index in chosen:
        arguments, types = (f"{value}, {index}", f"{kind}, index") if index else (value, kind)
        name += ".{i}" if index else ""
        behind.setdefault(at, []).append(
            f'    "llm.observe"({arguments}) <{{name = "{name}"}}> : ({types}) -> ()')
    return "".join("\n".join([line] + behind.get(at, [])) + "\n" for at, line in enumerate(lines))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--alone", type=int, default=3)
    arguments = parser.parse_args()
    work = arguments.work
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    if arguments.folder.is_dir():
        model = arguments.folder
        ids = list(tensors.read(model / "golden.safetensors")["input_ids"][1])
    else:
        model = work / "model"
        ids = families.write(arguments.folder.name, model)["prompt"]
    prompt = tensors.write_prompt(work / "prompt", ids)
    tensors.call("llmc-opt", model, "--target=cpu", "--to=partition", f"--dump-phases={work}/phases")
    (dump,) = (work / "phases").glob("*-partition.mlir")
    lines = tensors.call("llmc-opt", dump, "--mlir-print-op-generic").splitlines()
    everything = list(places(lines))
    if len(everything) < 10:
        sys.exit(f"{arguments.folder.name}: {len(everything)} values found in {dump}")

    def traced(name, chosen, *options):
        program = work / (name + ".mlir")
        program.write_text(observed(lines, chosen))
        tensors.call("llmc-opt", program, "--target=cpu", "--from=optimize", f"--checkpoint={model}",
                     "-o", work / name, *options)
        return tensors.trace(work / name, prompt, work / (name + ".trace"), "--greedy", 1)

    want = traced("unfused", everything, "--fusion=off")
    picked = random.Random(3).sample(everything, min(arguments.alone, len(everything)))
    shown = 0
    for name, chosen in [("all", everything)] + [(p[0], [p]) for p in picked]:
        got = traced(name, chosen)
        own = [key for key in got if key.startswith("value.")]
        if not own:
            sys.exit(f"{arguments.folder.name}: {name} shows {sorted(got)}")
        for key in own:
            if list(got[key][0]) != list(want[key][0]) or got[key][1].tobytes() != want[key][1].tobytes():
                sys.exit(f"{arguments.folder.name}: bits of {key} differ, observed with {name}")
        shown += len(own)
    print(f"{arguments.folder.name}: {len(everything)} values observed, {shown} tensors with the same bits")


if __name__ == "__main__":
    main()
