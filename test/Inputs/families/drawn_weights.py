"""Weights that follow from a tensor's name and shape alone, so that references need not store them.

Element k of a tensor is u = (bits - 2^23) / 2^24, from -0.5 to 0.5, where bits are the upper 24 bits of
splitmix64(FNV-1a(name) + k); exact in f32. Norm weights and factors are 1 + u, biases u, matrices 3 u / sqrt(columns)
rounded to a multiple of 2^-20.
"""
import array
import math

MASK = (1 << 64) - 1
# Norms by the parts of their names, in all the families that are referenced.
NORMS = ("norm", "ln_", ".ln.", "layernorm", "ln_f", "_ln.")
# Factors of a whole layer: values near zero would leave nothing of it.
FACTORS = (".layer_scalar",)
# Stored, but the same in every checkpoint.
CONSTANTS = {"act_fn.beta": 0.5, "act_fn.eps": -1e-6}
# Tables of experts by token: rows of different numbers below so many.
TABLES = {".tid2eid": 8}


def seed(name):
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = ((value ^ byte) * 0x100000001B3) & MASK
    return value


def uniform(start, count):
    for k in range(count):
        z = (start + (k + 1) * 0x9E3779B97F4A7C15) & MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        yield (((z ^ (z >> 31)) >> 40) - (1 << 23)) / (1 << 24)


def weights(name, shape):
    """The elements of a tensor, in row-major order, as an array of f32, of a table of i64."""
    for end, count in TABLES.items():
        if name.endswith(end):
            starts = [int((u + 0.5) * count) for u in uniform(seed(name), shape[0])]
            return array.array("q", ((start + 3 * k) % count for start in starts for k in range(shape[1])))
    for end, value in CONSTANTS.items():
        if name.endswith(end):
            return array.array("f", [value])
    numbers = uniform(seed(name), math.prod(shape))
    if name.endswith(FACTORS) or name.endswith(".weight") and any(part in name.lower() for part in NORMS):
        return array.array("f", (1 + u for u in numbers))
    if len(shape) < 2:
        return array.array("f", numbers)
    gain = 3 / math.sqrt(shape[-1])
    return array.array("f", (round(u * gain * (1 << 20)) / (1 << 20) for u in numbers))
