#!/usr/bin/env python3
"""Makes normal.bin, random weights as f32, and errors.txt beside it: for each format the mean of
the squared errors, in units of 1e-9 and rounded up, that the quantisers of ggml-org/llama.cpp cause.

    pip install llama-cpp-python numpy
    python3 make.py

They are called by way of the library that the package llama-cpp-python brings, without weights of
importance; nothing of llmc takes part. The first half is normal, the second has a scale of its own
for each row and one value in a hundred that is ten times as large, as real weights do.
"""
import ctypes
import math
import pathlib

import numpy as np

FOLDER = pathlib.Path(__file__).parent
TYPES = {"q4_0": (2, 32, 18), "q4_1": (3, 32, 20), "q5_0": (6, 32, 22), "q5_1": (7, 32, 24),
         "q8_0": (8, 32, 34), "q2_k": (10, 256, 84), "q3_k": (11, 256, 110), "q4_k": (12, 256, 144),
         "q5_k": (13, 256, 176), "q6_k": (14, 256, 210)}


class Traits(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("block", ctypes.c_int64), ("interleave", ctypes.c_int64),
                ("size", ctypes.c_size_t), ("quantized", ctypes.c_bool),
                ("to_float", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p,
                                              ctypes.c_int64))]


def library():
    import llama_cpp
    folder = pathlib.Path(llama_cpp.__file__).parent / "lib"
    lib = ctypes.CDLL(str(folder / "libggml-base.so"))
    lib.ggml_quantize_chunk.restype = ctypes.c_size_t
    lib.ggml_quantize_chunk.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p,
                                        ctypes.c_int64, ctypes.c_int64, ctypes.c_int64,
                                        ctypes.c_void_p]
    lib.ggml_get_type_traits.restype = ctypes.POINTER(Traits)
    # Fills the table of f16 values that the quantisers use.
    lib.ggml_init.restype = ctypes.c_void_p
    lib.ggml_init(ctypes.c_size_t(1 << 20), ctypes.c_void_p(0), ctypes.c_bool(False))
    return lib


def main():
    rng = np.random.default_rng(11)
    values = rng.standard_normal((32, 256))
    values[16:] *= np.exp(rng.standard_normal((16, 1)))
    values[16:][rng.random((16, 256)) < 0.01] *= 10
    values = np.ascontiguousarray(values * 0.05, dtype=np.float32)
    (FOLDER / "normal.bin").write_bytes(values.astype("<f4").tobytes())
    lib, lines = library(), []
    for name, (kind, block, size) in TYPES.items():
        packed = np.zeros(values.size // block * size, dtype=np.uint8)
        back = np.zeros_like(values)
        lib.ggml_quantize_chunk(kind, values.ctypes.data, packed.ctypes.data, 0, *values.shape, None)
        lib.ggml_get_type_traits(kind).contents.to_float(packed.ctypes.data, back.ctypes.data,
                                                         values.size)
        error = float(np.mean((back.astype(np.float64) - values) ** 2))
        lines.append(f"{name} {math.ceil(error * 1e9)}")
    (FOLDER / "errors.txt").write_text("\n".join(lines) + "\n")


main()
