#!/usr/bin/env python3
"""Makes the .bin files beside it: stored blocks, then the f32 values of their elements.

    pip install gguf==0.19.0 ml_dtypes numpy
    python3 make.py

The values come from the package `gguf` of ggml-org/llama.cpp (gguf.quants.dequantize) and, for
the 8-bit floats of safetensors, from `ml_dtypes`; nothing of llmc takes part. Half of the blocks
are random with finite scales, the others have scales that are zero, subnormal, the largest,
infinite or no number, over quants that are all zeros or all ones.
"""
import pathlib

import gguf
import ml_dtypes
import numpy as np

FOLDER = pathlib.Path(__file__).parent
# Bytes of a block, and where its f16 scales lie.
HALVES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "IQ4_NL": [0],
          "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208],
          "IQ4_XS": [0], "TQ1_0": [52], "TQ2_0": [64], "MXFP4": [], "NVFP4": []}
EDGES = [0x0000, 0x8000, 0x0001, 0x83FF, 0x7BFF, 0xFBFF, 0x7C00, 0x7E01]
FLOATS = {"f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "f8e4m3fnuz": "float8_e4m3fnuz",
          "f8e5m2fnuz": "float8_e5m2fnuz", "f8e8m0": "float8_e8m0fnu"}


def blocks(name, size, rng):
    count = 8 if size > 40 else 24
    data = rng.integers(0, 256, (count, size), dtype=np.uint8)
    for i in range(count):
        edge = i % 2 == 0
        if edge:
            data[i] = [0, 255, 0x5A][i // 2 % 3]
        for n, at in enumerate(HALVES[name]):
            half = EDGES[(i // 2 * (3 + 2 * n) + n) % 8] if edge else int(rng.integers(0x7C00)) | \
                int(rng.integers(2)) << 15
            data[i, at : at + 2] = [half & 255, half >> 8]
        if name == "MXFP4" and edge:
            data[i, 0] = [0, 1, 2, 127, 254, 255][i // 2 % 6]
        if name == "NVFP4" and edge:
            data[i, :4] = [0x7F, 0, 1, 0x7E] if i % 4 else [0xFF, 0x80, 7, 8]
    return data


def main():
    rng = np.random.default_rng(7)
    np.seterr(all="ignore")
    for name in HALVES:
        kind = gguf.GGMLQuantizationType[name]
        data = blocks(name, gguf.GGML_QUANT_SIZES[kind][1], rng)
        values = gguf.quants.dequantize(data, kind)
        (FOLDER / f"{name.lower()}.bin").write_bytes(
            data.tobytes() + values.astype("<f4").tobytes())
    codes = np.arange(256, dtype=np.uint8)
    for name, kind in FLOATS.items():
        values = codes.view(getattr(ml_dtypes, kind)).astype(np.float32)
        (FOLDER / f"{name}.bin").write_bytes(codes.tobytes() + values.astype("<f4").tobytes())


main()
