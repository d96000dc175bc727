"""Block formats of GGUF: plain encoders, and the values that the blocks stand for.

The layouts are those of ggml-org/llama.cpp (ggml-common.h). A row of FORMATS says how many bits
a quant has, in which planes they lie, and what scales a block has; encoders take the nearest
quants and search for nothing.
"""
import math
import struct

NON_LINEAR = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113]
TWICE_E2M1 = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12]


def half(x):
    return struct.unpack("<e", struct.pack("<e", x))[0]


def nearest(x, low, high):
    return min(max(math.floor(x + 0.5), low), high)


def plane(codes, low, bits, run):
    """`bits` bits of each code from bit `low`: byte j of a run of n bytes holds j, j + n, ..."""
    out = bytearray()
    for start in range(0, len(codes), run):
        n = run * bits // 8
        for j in range(n):
            out.append(sum((codes[start + j + part * n] >> low & (1 << bits) - 1) << part * bits
                           for part in range(8 // bits)))
    return bytes(out)


def split(values, size):
    return [values[i : i + size] for i in range(0, len(values), size)]


def symmetric(values, scale, zero, bits):
    codes = [nearest(x / scale + zero, 0, (1 << bits) - 1) if scale else zero for x in values]
    return codes, [scale * (c - zero) for c in codes]


def with_minimum(values, scale, low, bits):
    codes = [nearest((x - low) / scale, 0, (1 << bits) - 1) if scale else 0 for x in values]
    return codes, [scale * c + low for c in codes]


def from_book(values, scale, book):
    codes = [min(range(16), key=lambda c: abs(scale * book[c] - x)) for x in values]
    return codes, [scale * book[c] for c in codes]


# ---- blocks of 32

def block_symmetric(values, zero, bits):
    scale = half(max(values, key=abs) / -zero)
    codes, meant = symmetric(values, scale, zero, bits)
    return struct.pack("<e", scale), codes, meant


def block_minimum(values, bits):
    low = half(min(values))
    scale = half((max(values) - low) / ((1 << bits) - 1))
    codes, meant = with_minimum(values, scale, low, bits)
    return struct.pack("<ee", scale, low), codes, meant


def q4_0(values):
    head, codes, meant = block_symmetric(values, 8, 4)
    return head + plane(codes, 0, 4, 32), meant


def q4_1(values):
    head, codes, meant = block_minimum(values, 4)
    return head + plane(codes, 0, 4, 32), meant


def q5_0(values):
    head, codes, meant = block_symmetric(values, 16, 5)
    return head + plane(codes, 4, 1, 8) + plane(codes, 0, 4, 32), meant


def q5_1(values):
    head, codes, meant = block_minimum(values, 5)
    return head + plane(codes, 4, 1, 8) + plane(codes, 0, 4, 32), meant


def q8_0(values):
    scale = half(max(abs(x) for x in values) / 127)
    codes = [nearest(x / scale, -127, 127) if scale else 0 for x in values]
    return struct.pack("<e32b", scale, *codes), [scale * c for c in codes]


def iq4_nl(values):
    scale = half(max(values, key=abs) / -127)
    codes, meant = from_book(values, scale, NON_LINEAR)
    return struct.pack("<e", scale) + plane(codes, 0, 4, 32), meant


def mxfp4(values):
    largest = max(abs(x) for x in values)
    exponent = nearest(math.log2(largest / 12) + 128, 0, 254) if largest else 0
    codes, meant = from_book(values, 2.0 ** (exponent - 128), TWICE_E2M1)
    return bytes([exponent]) + plane(codes, 0, 4, 32), meant


# ---- blocks of 256: integer scales of 16 or 32 values

def scaled_groups(values, size, largest, most):
    """(d, integers, groups): steps d * s that reach `largest` of each group's unit."""
    groups = split(values, size)
    steps = [max(group, key=abs) / largest for group in groups]
    d = half(max(abs(step) for step in steps) / most)
    return d, [nearest(step / d, -most, most) if d else 0 for step in steps], groups


def symmetric_k(values, size, zero, bits, most):
    d, scales, groups = scaled_groups(values, size, -zero, most)
    codes, meant = [], []
    for s, group in zip(scales, groups):
        c, m = symmetric(group, d * s, zero, bits)
        codes += c
        meant += m
    return d, scales, codes, meant


def minimum_k(values, size, bits, most):
    groups = split(values, size)
    lows = [max(0.0, -min(group)) for group in groups]
    steps = [(max(group) + low) / ((1 << bits) - 1) for group, low in zip(groups, lows)]
    d, dmin = half(max(steps) / most), half(max(lows) / most)
    scales = [nearest(step / d, 0, most) if d else 0 for step in steps]
    minima = [nearest(low / dmin, 0, most) if dmin else 0 for low in lows]
    codes, meant = [], []
    for s, t, group in zip(scales, minima, groups):
        c, m = with_minimum(group, d * s, -dmin * t, bits)
        codes += c
        meant += m
    return d, dmin, scales, minima, codes, meant


def q2_k(values):
    d, dmin, scales, minima, codes, meant = minimum_k(values, 16, 2, 15)
    pairs = bytes(s | t << 4 for s, t in zip(scales, minima))
    return pairs + plane(codes, 0, 2, 128) + struct.pack("<ee", d, dmin), meant


def q3_k(values):
    d, scales, codes, meant = symmetric_k(values, 16, 4, 3, 31)
    s = [x + 32 for x in scales]
    packed = bytearray((s[i] & 15) | (s[i + 8] & 15) << 4 for i in range(8))
    packed += bytes(sum((s[i + 4 * part] >> 4) << 2 * part for part in range(4)) for i in range(4))
    return (plane(codes, 2, 1, 256) + plane(codes, 0, 2, 128) + bytes(packed)
            + struct.pack("<e", d), meant)


def six_bit_pairs(scales, minima):
    low = bytes(scales[i] | (scales[i + 4] >> 4) << 6 for i in range(4))
    mid = bytes(minima[i] | (minima[i + 4] >> 4) << 6 for i in range(4))
    return low + mid + bytes((scales[i] & 15) | (minima[i] & 15) << 4 for i in range(4, 8))


def q4_k(values):
    d, dmin, scales, minima, codes, meant = minimum_k(values, 32, 4, 63)
    return (struct.pack("<ee", d, dmin) + six_bit_pairs(scales, minima)
            + plane(codes, 0, 4, 64), meant)


def q5_k(values):
    d, dmin, scales, minima, codes, meant = minimum_k(values, 32, 5, 63)
    return (struct.pack("<ee", d, dmin) + six_bit_pairs(scales, minima)
            + plane(codes, 4, 1, 256) + plane(codes, 0, 4, 64), meant)


def q6_k(values):
    d, scales, codes, meant = symmetric_k(values, 16, 32, 6, 127)
    return (plane(codes, 0, 4, 128) + plane(codes, 4, 2, 128) + struct.pack("<16b", *scales)
            + struct.pack("<e", d), meant)


def q8_k(values):
    d = struct.unpack("<f", struct.pack("<f", max(abs(x) for x in values) / 127))[0]
    codes = [nearest(x / d, -127, 127) if d else 0 for x in values]
    sums = [sum(part) for part in split(codes, 16)]
    return struct.pack("<f256b16h", d, *codes, *sums), [d * c for c in codes]


def iq4_xs(values):
    d, scales, groups = scaled_groups(values, 32, -127, 31)
    codes, meant = [], []
    for s, group in zip(scales, groups):
        c, m = from_book(group, d * s, NON_LINEAR)
        codes += c
        meant += m
    s = [x + 32 for x in scales]
    high = sum((x >> 4) << 2 * i for i, x in enumerate(s))
    low = bytes((s[2 * i] & 15) | (s[2 * i + 1] & 15) << 4 for i in range(4))
    return struct.pack("<eH", d, high) + low + plane(codes, 0, 4, 32), meant


# ggml type number, elements of a block, encoder
FORMATS = {
    "q4_0": (2, 32, q4_0), "q4_1": (3, 32, q4_1), "q5_0": (6, 32, q5_0), "q5_1": (7, 32, q5_1),
    "q8_0": (8, 32, q8_0), "q2_k": (10, 256, q2_k), "q3_k": (11, 256, q3_k),
    "q4_k": (12, 256, q4_k), "q5_k": (13, 256, q5_k), "q6_k": (14, 256, q6_k),
    "q8_k": (15, 256, q8_k), "iq4_nl": (20, 32, iq4_nl), "iq4_xs": (23, 256, iq4_xs),
    "mxfp4": (39, 32, mxfp4),
}
