"""A table of experts by token names experts that there are; a checkpoint with others is refused.

usage: tables.py --work DIR
"""
import argparse
import shutil
import sys
from pathlib import Path

import families
import tensors

TABLE = "layers.0.ffn.gate.tid2eid"  # rows of 3 among 8 experts
# What is written into row 7, and what compiling says.
MISTAKES = {
    8: "tensor 'layers.0.ffn.gate.tid2eid' has 8.000000 in row 7, its numbers must be whole and from 0 to 7",
    1 << 40: "element 22 of the checkpoint's tensor 'layers.0.ffn.gate.tid2eid' is 1099511627776, "
             "whole numbers can be read up to 16777216",
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", type=Path, required=True)
    work = parser.parse_args().work
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    families.write("deepseek_v4", work / "model")
    stored = tensors.read(work / "model/model.safetensors")
    for number, message in MISTAKES.items():
        spoilt = dict(stored)
        shape, numbers = stored[TABLE]
        spoilt[TABLE] = (shape, numbers[:22] + type(numbers)("q", [number]) + numbers[23:])
        tensors.write(work / "model/model.safetensors", spoilt)
        try:
            tensors.compile_model(work / "model", work / "artifact")
        except SystemExit as refusal:
            if message not in str(refusal) or "exit 1:" not in str(refusal):
                sys.exit(f"{number}: {refusal}")
        else:
            sys.exit(f"{number} is compiled")
        if (work / "artifact").exists():
            sys.exit(f"{number}: an artifact is left")
    print(f"{len(MISTAKES)} tables are refused")


main()
