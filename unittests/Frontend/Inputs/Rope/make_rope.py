"""Writes rope.json: inverse frequencies of every rotary scaling, by the published formulas.

The formulas and the order of f32 operations are those of transformers' modeling_rope_utils (5.x),
written down again with numpy; powers are rounded once, from f64. Run by hand; the result is
committed:  python3 make_rope.py > rope.json
"""
import json
import math

import numpy as np

F = np.float32


def powers(theta, dim):
    exponents = F(np.arange(0, dim, 2)) / F(dim)
    return F(np.power(np.float64(F(theta)), np.float64(exponents)))


def default(theta, dim):
    return F(1) / powers(theta, dim)


def linear(theta, dim, factor):
    return default(theta, dim) / F(factor)


def dynamic(theta, dim, factor, positions, context):
    length = max(context, positions)
    base = theta * ((factor * length / positions) - (factor - 1)) ** (dim / (dim - 2))
    return default(base, dim)


def longrope(theta, dim, factors):
    return F(1) / (F(factors) * powers(theta, dim))


def proportional(theta, dim, partial, factor):
    turning = int(partial * dim // 2)
    whole = default(theta, dim)
    whole[turning:] = 0
    return whole / F(factor)


def llama3(theta, dim, factor, low, high, original):
    freq = default(theta, dim)
    wavelength = F(2 * math.pi) / freq
    scaled = np.where(wavelength > F(original / low), freq / F(factor), freq)
    smooth = (F(original) / wavelength - F(low)) / F(high - low)
    between = (F(1) - smooth) * scaled / F(factor) + smooth * scaled
    medium = ~(wavelength < F(original / high)) & ~(wavelength > F(original / low))
    return np.where(medium, between, scaled)


def yarn(theta, dim, factor, fast, slow, original, truncate):
    def edge(rotations):
        return dim * math.log(original / (rotations * 2 * math.pi)) / (2 * math.log(theta))

    low, high = edge(fast), edge(slow)
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, dim - 1)
    if low == high:
        high += 0.001
    ramp = np.clip((F(np.arange(dim // 2)) - F(low)) / F(high - low), F(0), F(1))
    share = F(1) - ramp
    positions = powers(theta, dim)
    return F(1) / (F(factor) * positions) * (F(1) - share) + F(1) / positions * share


def longrope_attention(factor, original):
    return math.sqrt(1 + math.log(factor) / math.log(original)) if factor > 1 else 1.0


def case(config, dim, freqs, long=None, attention=1.0):
    entry = {"config": config, "dim": dim, "frequencies": [float(f) for f in freqs],
             "attention": attention}
    if long is not None:
        entry["long"] = [float(f) for f in long]
    return entry


def main():
    short = [1.0, 1.05, 1.1, 1.2, 1.35, 1.5, 1.9, 2.4]
    long = [1.1, 1.7, 3.2, 9.5, 17.0, 30.8, 44.1, 63.0]
    longrope_fields = {"rope_type": "longrope", "rope_theta": 10000.0, "short_factor": short,
                       "long_factor": long, "original_max_position_embeddings": 4096}
    cases = [
        case({"rope_theta": 500000.0}, 16, default(500000.0, 16)),
        case({"rope_parameters": {"rope_type": "default", "rope_theta": 1e6,
                                  "partial_rotary_factor": 0.75}}, 32, default(1e6, 24)),
        case({"rope_theta": 1e6, "rope_scaling": {"type": "linear", "factor": 8.0}}, 16,
             linear(1e6, 16, 8.0)),
        # As fine as it goes: the base of the context, here the trained one.
        case({"rope_theta": 10000.0, "max_position_embeddings": 2048,
              "rope_scaling": {"type": "dynamic", "factor": 2.0}}, 16,
             dynamic(10000.0, 16, 2.0, 2048, 2048)),
        case({"rope_theta": 10000.0, "max_position_embeddings": 2048, "context": 8192,
              "rope_scaling": {"type": "dynamic", "factor": 2.0}}, 16,
             dynamic(10000.0, 16, 2.0, 2048, 8192)),
        case({"rope_parameters": longrope_fields, "max_position_embeddings": 131072}, 16,
             longrope(10000.0, 16, short), longrope(10000.0, 16, long),
             longrope_attention(32.0, 4096)),
        case({"rope_theta": 10000.0, "original_max_position_embeddings": 4096,
              "max_position_embeddings": 4096,
              "rope_scaling": {"type": "su", "short_factor": short, "long_factor": long}}, 16,
             longrope(10000.0, 16, short), longrope(10000.0, 16, long), 1.0),
        case({"rope_parameters": dict(longrope_fields, attention_factor=1.25, factor=4.0),
              "max_position_embeddings": 131072}, 16,
             longrope(10000.0, 16, short), longrope(10000.0, 16, long), 1.25),
        case({"rope_parameters": {"rope_type": "proportional", "rope_theta": 1e6,
                                  "partial_rotary_factor": 0.25, "factor": 2.0}}, 32,
             proportional(1e6, 32, 0.25, 2.0)),
        case({"rope_theta": 500000.0,
              "rope_scaling": {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0,
                               "high_freq_factor": 4.0,
                               "original_max_position_embeddings": 8192}}, 64,
             llama3(500000.0, 64, 32.0, 1.0, 4.0, 8192)),
        case({"rope_theta": 10000.0, "max_position_embeddings": 32768,
              "rope_scaling": {"rope_type": "yarn", "factor": 4.0,
                               "original_max_position_embeddings": 4096}}, 64,
             yarn(10000.0, 64, 4.0, 32, 1, 4096, True), attention=0.1 * math.log(4.0) + 1),
    ]
    print(json.dumps(cases, indent=1))


main()
