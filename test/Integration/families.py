"""Compares tiny models of many families with the logits that their published code gives.

usage: families.py --device evaluator|cpu --work DIR [CASE...]

The references are test/Inputs/families/CASE.json (utils/make_family_references.py).
"""
import argparse
import array
import json
import math
import shutil
import sys
from pathlib import Path

import tensors

FAMILIES = Path(__file__).resolve().parent.parent / "Inputs" / "families"
sys.path.insert(0, str(FAMILIES))
import drawn_weights  # noqa: E402

# References have seven digits.
ALLOWED = {"evaluator": 2e-6, "cpu": 2e-5}


def write(name, model):
    """Writes the folder of a case; returns the case."""
    case = json.loads((FAMILIES / f"{name}.json").read_text())
    model.mkdir()
    (model / "config.json").write_text(json.dumps(case["config"]))
    tensors.write(model / "model.safetensors",
                  {name: (shape, drawn_weights.weights(name, shape))
                   for name, shape in case["tensors"].items()})
    return case


def logits(case):
    rows = case["logits"]
    return [len(rows), len(rows[0])], array.array("f", (x for row in rows for x in row))


def run(file, device, work):
    model = work / file.stem
    case = write(file.stem, model)
    prompt = tensors.write_prompt(work / "prompt", case["prompt"])
    subject = model if device == "evaluator" else tensors.compile_model(model, work / f"{file.stem}.artifact")
    got = tensors.trace(subject, prompt, work / "trace", "--device", device, "--only", "logits")
    return tensors.worst_row(got["logits"], logits(case))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", choices=ALLOWED, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("cases", nargs="*")
    arguments = parser.parse_args()
    shutil.rmtree(arguments.work, ignore_errors=True)
    arguments.work.mkdir(parents=True)
    files = sorted(file for file in FAMILIES.glob("*.json")
                   if not arguments.cases or file.stem in arguments.cases)
    if len(files) < max(1, len(arguments.cases)):
        sys.exit("a case has no reference")
    failed = 0
    for file in files:
        try:
            error = run(file, arguments.device, arguments.work)
        except SystemExit as failure:  # of a program
            print(failure)
            error = math.inf
        good = error <= ALLOWED[arguments.device]
        failed += not good
        print(f"{file.stem} {arguments.device}: worst row {error:.1e}, "
              f"{ALLOWED[arguments.device]:.1e} allowed{'' if good else ': WRONG'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
