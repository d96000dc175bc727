#!/usr/bin/env python3
"""Writes paired/*.safetensors: a weight as each quantisation method stores it, and `expected`, the values
that the method's published formula gives, computed here with numpy. Usage: make_paired_tensors.py FOLDER"""
import json
import struct
import sys
from pathlib import Path

import numpy as np

rng = np.random.default_rng(1105)
E2M1 = np.array([0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6], np.float32)


def e4m3(codes):
    c = codes.astype(np.int64)
    sign, exponent, mantissa = c >> 7, (c >> 3) & 15, c & 7
    value = np.where(exponent == 0, mantissa / 8 * 2.0 ** -6, (1 + mantissa / 8) * 2.0 ** (exponent - 7.0))
    return np.where(sign == 1, -value, value).astype(np.float32)


def codes8(*shape):
    codes = rng.integers(0, 256, shape, np.uint8)
    return np.where((codes & 0x7f) == 0x7f, 0x3c, codes).astype(np.uint8)   # no NaN


def write(path, tensors):
    header, blob = {}, b""
    for name, (dtype, array) in tensors.items():
        raw = np.ascontiguousarray(array).tobytes()
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [len(blob), len(blob) + len(raw)]}
        blob += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + blob)


def words(q, bits):
    """integers along the last axis into i32, the first in the lowest bits"""
    each = 32 // bits
    q = q.reshape(*q.shape[:-1], -1, each).astype(np.uint64)
    return (q << (np.arange(each, dtype=np.uint64) * np.uint64(bits))).sum(-1).astype(np.uint32).view(np.int32)


def nibbles(q):
    return (q[..., 0::2] | q[..., 1::2] << 4).astype(np.uint8)


def main(folder):
    scale = lambda *shape: rng.uniform(0.01, 2, shape).astype(np.float32)
    # fp8, blocks of 2 x 4 that do not divide the matrix
    w, s = codes8(3, 10), scale(2, 3)
    full = np.repeat(np.repeat(s, 2, 0), 4, 1)[:3, :10]
    write(folder / "fp8_block.safetensors", {"a.weight": ("F8_E4M3", w), "a.weight_scale_inv": ("F32", s), "expected": ("F32", e4m3(w) * full)})
    # fp8, one scale; int8, one a row
    w, s = codes8(3, 4), scale()
    write(folder / "fp8_tensor.safetensors", {"a.weight": ("F8_E4M3", w), "a.weight_scale": ("F32", s), "a.input_scale": ("F32", scale(1)), "expected": ("F32", e4m3(w) * s)})
    w, s = rng.integers(-128, 128, (3, 4)).astype(np.int8), scale(3, 1)
    write(folder / "int8_channel.safetensors", {"a.weight": ("I8", w), "a.weight_scale": ("F32", s), "expected": ("F32", w.astype(np.float32) * s)})
    # nvfp4 of modelopt and of compressed-tensors
    q, s, g = rng.integers(0, 16, (2, 32), np.uint8), codes8(2, 2) & 0x7f, scale(1)
    s = np.where(s == 0x7f, 0x38, s).astype(np.uint8)
    each = np.repeat(e4m3(s) * g, 16, 1)
    write(folder / "nvfp4_modelopt.safetensors", {"a.weight": ("U8", nibbles(q)), "a.weight_scale": ("F8_E4M3", s), "a.weight_scale_2": ("F32", g[0]), "expected": ("F32", E2M1[q] * each)})
    each = np.repeat(e4m3(s) / g, 16, 1)
    write(folder / "nvfp4_packed.safetensors", {"a.weight_packed": ("U8", nibbles(q)), "a.weight_scale": ("F8_E4M3", s), "a.weight_global_scale": ("F32", g), "expected": ("F32", E2M1[q] * each)})
    # mxfp4 of compressed-tensors and of gpt-oss, whose matrices are published transposed
    q, s = rng.integers(0, 16, (2, 64), np.uint8), rng.integers(120, 134, (2, 2), np.uint8)
    value = E2M1[q] * np.repeat(2.0 ** (s.astype(np.float32) - 127), 32, 1).astype(np.float32)
    write(folder / "mxfp4_packed.safetensors", {"a.weight_packed": ("U8", nibbles(q)), "a.weight_scale": ("U8", s), "expected": ("F32", value)})
    q, s = rng.integers(0, 16, (2, 3, 64), np.uint8), rng.integers(120, 134, (2, 3, 2), np.uint8)
    value = E2M1[q] * np.repeat(2.0 ** (s.astype(np.float32) - 127), 32, 2).astype(np.float32)
    write(folder / "mxfp4_experts.safetensors", {"x.gate_up_proj_blocks": ("U8", nibbles(q).reshape(2, 3, 2, 16)), "x.gate_up_proj_scales": ("U8", s), "expected": ("F32", value.transpose(0, 2, 1))})
    # int4 of compressed-tensors, with zero points, in groups of 8
    q, z, s = rng.integers(0, 16, (8, 16)), rng.integers(0, 16, (8, 2)), scale(8, 2).astype(np.float16)
    value = (q - np.repeat(z, 8, 1)).astype(np.float32) * np.repeat(s.astype(np.float32), 8, 1)
    write(folder / "int4_packed.safetensors", {"a.weight_packed": ("I32", words(q, 4)), "a.weight_scale": ("F16", s), "a.weight_zero_point": ("I32", words(z.T, 4).T), "a.weight_shape": ("I64", np.array([8, 16])), "expected": ("F32", value)})
    # awq: [columns, rows], eight rows a word in its order; groups of 4 columns
    q, z, s = rng.integers(0, 16, (8, 16)), rng.integers(0, 16, (2, 16)), scale(2, 16).astype(np.float16)
    order = np.array([0, 2, 4, 6, 1, 3, 5, 7])
    inOrder = lambda x: words(x.reshape(x.shape[0], -1, 8)[:, :, order].reshape(x.shape), 4)
    value = (q - np.repeat(z, 4, 0)).astype(np.float32) * np.repeat(s.astype(np.float32), 4, 0)
    write(folder / "awq.safetensors", {"a.qweight": ("I32", inOrder(q)), "a.qzeros": ("I32", inOrder(z)), "a.scales": ("F16", s), "expected": ("F32", value.T)})
    # gptq: [columns, rows], eight columns a word; columns in groups of their own order; zeros less one
    q, z, s = rng.integers(0, 16, (16, 8)), rng.integers(0, 16, (2, 8)), scale(2, 8).astype(np.float16)
    group = rng.permutation(np.repeat([0, 1], 8)).astype(np.int32)
    value = (q - (z[group] + 1) % 16).astype(np.float32) * s[group].astype(np.float32)
    write(folder / "gptq.safetensors", {"a.qweight": ("I32", words(q.T, 4).T), "a.qzeros": ("I32", words(z, 4)), "a.scales": ("F16", s), "a.g_idx": ("I32", group), "expected": ("F32", value.T)})
    # fp8 whose experts are of four bits, as DeepSeek-V4 has them
    q, s = rng.integers(0, 16, (2, 64), np.uint8), rng.integers(120, 134, (2, 2), np.uint8)
    value = E2M1[q] * np.repeat(2.0 ** (s.astype(np.float32) - 127), 32, 1).astype(np.float32)
    write(folder / "fp8_four_bits.safetensors", {"a.weight": ("I8", nibbles(q)), "a.scale": ("F8_E8M0", s), "expected": ("F32", value)})
    # mxfp8 (OCP MX 1.0): a power of two for each 32 values of a row, as bytes or as e8m0
    for name, kind in (("mxfp8", "U8"), ("mxfp8_e8m0", "F8_E8M0")):
        q, s = codes8(2, 3, 64), rng.integers(118, 136, (2, 3, 2), np.uint8)
        s[0, 0, 0], s[1, 2, 1] = 0, 20
        value = (e4m3(q).astype(np.float64) * np.repeat(2.0 ** (s.astype(np.float64) - 127), 32, 2)).astype(np.float32)
        write(folder / f"{name}.safetensors", {"a.weight": ("F8_E4M3", q), "a.weight_scale": (kind, s), "expected": ("F32", value)})
    # rows divided by their lengths; one of zeros
    w = rng.normal(0, 3, (4, 6)).astype(np.float32)
    w[2] = 0
    length = np.maximum(np.sqrt((w.astype(np.float64) ** 2).sum(1, keepdims=True)), 1e-12)
    write(folder / "unit_rows.safetensors", {"a.weight": ("F32", w), "expected": ("F32", (w / length).astype(np.float32))})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
