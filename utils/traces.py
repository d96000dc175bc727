#!/usr/bin/env python3
"""Inputs for `llmc trace`, and the first place where two of its traces part.

    traces.py ids FILE TOKEN...                    writes input_ids for --inputs
    traces.py compare A B [--tolerance 0.001]      exit 1 where a tensor differs by more

compare prints every tensor in the order of the model with its largest difference, relative to the
standard deviation of A's tensor. The first one above the tolerance is where to look.
"""
import argparse
import json
import re
import struct
import sys

FORMATS = {"F32": "f", "F64": "d", "I64": "q", "I32": "i"}


def write_ids(path, tokens):
    data = struct.pack(f"<{len(tokens)}q", *tokens)
    header = {"input_ids": {"dtype": "I64", "shape": [1, len(tokens)],
                            "data_offsets": [0, len(data)]}}
    text = json.dumps(header).encode()
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text + data)


def read(path):
    raw = open(path, "rb").read()
    size = struct.unpack("<Q", raw[:8])[0]
    tensors = {}
    for name, entry in json.loads(raw[8:8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        code = FORMATS[entry["dtype"]]
        values = struct.unpack(f"<{(end - begin) // struct.calcsize(code)}{code}", raw[begin:end])
        tensors[name] = (entry["shape"], values)
    return tensors


def order(name):
    """hidden.0, hidden.1, …, then what comes after the layers."""
    layer = re.fullmatch(r"hidden\.(\d+)", name)
    late = ["final_norm", "logits", "greedy_logits", "greedy"]
    return (0, int(layer[1]), "") if layer else (1, late.index(name) if name in late else 9, name)


def compare(first, second, tolerance):
    a, b = read(first), read(second)
    parted = None
    for name in sorted(a.keys() | b.keys(), key=order):
        if name not in a or name not in b:
            print(f"{name:16} only in {first if name in a else second}")
            continue
        (shape, x), (other, y) = a[name], b[name]
        if shape != other:
            print(f"{name:16} {shape} against {other}")
            parted = parted or name
            continue
        mean = sum(x) / max(len(x), 1)
        deviation = (sum((v - mean) ** 2 for v in x) / max(len(x), 1)) ** 0.5
        worst = max((abs(p - q) for p, q in zip(x, y)), default=0.0)
        relative = worst / deviation if deviation else worst
        print(f"{name:16} {relative:.2e} deviations")
        if not relative <= tolerance:
            parted = parted or name
    print(f"first difference above {tolerance}: {parted}" if parted else
          f"no difference above {tolerance}")
    return 1 if parted else 0


def main():
    parser = argparse.ArgumentParser(description="Inputs for llmc trace, and comparing its outputs.")
    commands = parser.add_subparsers(dest="command", required=True)
    ids = commands.add_parser("ids", help="write input_ids")
    ids.add_argument("file")
    ids.add_argument("tokens", nargs="+", type=int)
    both = commands.add_parser("compare", help="compare two traces")
    both.add_argument("first")
    both.add_argument("second")
    both.add_argument("--tolerance", type=float, default=1e-3)
    arguments = parser.parse_args()
    if arguments.command == "ids":
        write_ids(arguments.file, arguments.tokens)
        return 0
    return compare(arguments.first, arguments.second, arguments.tolerance)


if __name__ == "__main__":
    sys.exit(main())
