"""Safetensors of 64-bit and 8-bit floats give the numbers that they hold.

usage: stored_floats.py --work DIR

F64 weights are rounded to f32 once and the report says so; 8-bit floats are packed as bf16, which
holds each of them, and give the very numbers of the same values stored as BF16.
"""
import argparse
import json
import random
import shutil
import struct
import sys
from pathlib import Path

import tensors
import tiny

CPU_BOUND = 2e-5


def write(path, weights):
    """`weights`: name -> (shape, dtype, bytes)"""
    header, body = {}, bytearray()
    for name, (shape, dtype, data) in weights.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body),
                                                                         len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def e4m3(code):
    exponent, mantissa = code >> 3 & 15, code & 7
    value = (8 + mantissa) * 2.0 ** (exponent - 10) if exponent else mantissa * 2.0 ** -9
    return -value if code & 128 else value


def bf16(value):
    return struct.pack("<f", value)[2:]


def model(folder, source, store):
    """A copy of the model whose weights `store(shape, numbers)` gives as (dtype, bytes)."""
    folder.mkdir()
    shutil.copy(source / "config.json", folder)
    write(folder / "model.safetensors",
          {name: (shape, *store(shape, numbers))
           for name, (shape, numbers) in tensors.read(source / "model.safetensors").items()})
    return folder


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", type=Path, required=True)
    work = parser.parse_args().work
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    prompt = tensors.write_prompt(work / "prompt", tiny.PROMPT)
    source = tiny.write(work / "source")
    steps, good = ["--greedy", 4], True

    wide = model(work / "wide", source, lambda shape, numbers: (
        "F64", struct.pack(f"<{len(numbers)}d", *(x * (1 + 2.0 ** -40) for x in numbers))))
    artifact = tensors.compile_model(wide, work / "wide-artifact")
    got = tensors.trace(artifact, prompt, work / "got", *steps)
    want = tensors.trace(source, prompt, work / "want", "--device", "evaluator", *steps)
    error, worst = tensors.compare(got, want, [name for name in want if name != "greedy"])
    entries = json.loads((artifact / "conversions.json").read_text())["tensors"]
    rounded = [e for e in entries if e["to"] == "f32" and 0 < e["relative_rms"] < 1e-7]
    print(f"F64: worst row {error:.1e} at {worst}, {len(rounded)} tensors rounded")
    good &= error <= CPU_BOUND and len(rounded) == len(tensors.read(source / "model.safetensors"))

    for dtype, value in [("F8_E4M3", e4m3),
                         ("F8_E5M2", lambda c: struct.unpack("<e", bytes([0, c]))[0])]:
        def codes(shape, numbers):
            # Moderate values of both signs; norms keep theirs near one.
            generator = random.Random(len(numbers))
            near = [c for c in range(256) if 2.0 ** -6 <= abs(value(c)) <= (0.25 if len(shape) == 2
                                                                         else 1.5)]
            return bytes(generator.choice(near) for _ in numbers)

        small = model(work / dtype, source, lambda s, n: (dtype, codes(s, n)))
        same = model(work / f"{dtype}-bf16", source, lambda s, n: (
            "BF16", b"".join(bf16(value(c)) for c in codes(s, n))))
        results = [tensors.trace(tensors.compile_model(folder, work / f"{folder.name}-artifact"),
                                 prompt, work / f"{folder.name}-got", *steps)
                   for folder in (small, same)]
        inner = [name for name in results[1] if name != "greedy"]
        error, worst = tensors.compare(*results, inner)
        print(f"{dtype}: worst row {error:.1e} at {worst}, 0 allowed")
        good &= error == 0 and len(inner) > 4
    return 0 if good else 1


sys.exit(main())
