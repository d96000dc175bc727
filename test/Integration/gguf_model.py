"""Writes a llama folder (config.json, model.safetensors) as GGUF, the way converters do.

`convert` quantises the products' weights, keeps norms in f32, and permutes the rows of q and k
so that the pairs of the rotary embedding are neighbours. It also returns the weights as the file
holds them, dequantised, in the order of the checkpoint.
"""
import array
import json
import math
import struct

import tensors

TYPES = {"f32": 0, "f16": 1, "q4_0": 2, "q4_1": 3, "q8_0": 8}
BLOCK = 32
ALIGNMENT = 32
UINT32, FLOAT32, STRING = 4, 6, 8


# ---- blocks: each returns the bytes and the values that they stand for

def half(x):
    return struct.unpack("<e", struct.pack("<e", x))[0]


def nearest(x, low, high):
    return min(max(math.floor(x + 0.5), low), high)


def pack_nibbles(codes):
    """The first half of a block in the low nibbles, the second in the high ones."""
    return bytes(codes[i] | codes[i + BLOCK // 2] << 4 for i in range(BLOCK // 2))


def block_q8_0(values):
    scale = max(abs(x) for x in values) / 127
    codes = [nearest(x / scale, -127, 127) if scale else 0 for x in values]
    return struct.pack("<e32b", scale, *codes), [half(scale) * c for c in codes]


def block_q4_0(values):
    largest = max(values, key=abs)
    scale = largest / -8
    codes = [nearest(x / scale + 8, 0, 15) if scale else 8 for x in values]
    return (struct.pack("<e", scale) + pack_nibbles(codes),
            [half(scale) * (c - 8) for c in codes])


def block_q4_1(values):
    low = min(values)
    scale = (max(values) - low) / 15
    codes = [nearest((x - low) / scale, 0, 15) if scale else 0 for x in values]
    return (struct.pack("<ee", scale, low) + pack_nibbles(codes),
            [half(scale) * c + half(low) for c in codes])


BLOCKS = {"q8_0": block_q8_0, "q4_0": block_q4_0, "q4_1": block_q4_1}


def encode(values, kind):
    """(bytes, values that they stand for)"""
    if kind == "f32":
        return values.tobytes(), values
    if kind == "f16":
        data = struct.pack(f"<{len(values)}e", *values)
        return data, array.array("f", struct.unpack(f"<{len(values)}e", data))
    data, meant = bytearray(), array.array("f")
    for start in range(0, len(values), BLOCK):
        bytes_, numbers = BLOCKS[kind](values[start : start + BLOCK])
        data += bytes_
        meant.extend(numbers)
    return bytes(data), meant


# ---- the order of rows

def permuted(rows, heads):
    """Row order of a converted q or k: from halves to neighbours, head by head."""
    size = rows // heads
    return [head * size + part * (size // 2) + i
            for head in range(heads) for i in range(size // 2) for part in range(2)]


def reorder(values, shape, order):
    width = shape[1]
    out = array.array("f")
    for row in order:
        out.extend(values[row * width : (row + 1) * width])
    return out


# ---- the file

def string(text):
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def pair(key, kind, value):
    packed = string(value) if kind == STRING else struct.pack("<f" if kind == FLOAT32 else "<I",
                                                              value)
    return string(key) + struct.pack("<I", kind) + packed


def metadata(config):
    rope = config["rope_parameters"]
    pairs = [
        ("general.architecture", STRING, "llama"),
        ("general.name", STRING, "tiny"),
        ("llama.block_count", UINT32, config["num_hidden_layers"]),
        ("llama.embedding_length", UINT32, config["hidden_size"]),
        ("llama.attention.head_count", UINT32, config["num_attention_heads"]),
        ("llama.attention.head_count_kv", UINT32, config["num_key_value_heads"]),
        ("llama.attention.key_length", UINT32, config["head_dim"]),
        ("llama.attention.value_length", UINT32, config["head_dim"]),
        ("llama.feed_forward_length", UINT32, config["intermediate_size"]),
        ("llama.context_length", UINT32, config["max_position_embeddings"]),
        ("llama.attention.layer_norm_rms_epsilon", FLOAT32, config["rms_norm_eps"]),
        ("llama.vocab_size", UINT32, config["vocab_size"]),
        ("llama.rope.dimension_count", UINT32, config["head_dim"]),
        ("llama.rope.freq_base", FLOAT32, rope["rope_theta"]),
    ]
    if rope["rope_type"] == "linear":
        pairs += [("llama.rope.scaling.type", STRING, "linear"),
                  ("llama.rope.scaling.factor", FLOAT32, rope["factor"])]
    return [pair(*each) for each in pairs]


def llama3_divisors(config):
    """Converters store the llama3 scaling as a divisor of each frequency."""
    rope = config["rope_parameters"]
    original, factor = rope["original_max_position_embeddings"], rope["factor"]
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    divisors = array.array("f")
    for i in range(0, config["head_dim"], 2):
        wavelength = 2 * math.pi * rope["rope_theta"] ** (i / config["head_dim"])
        if wavelength < original / high:
            divisors.append(1)
        elif wavelength > original / low:
            divisors.append(factor)
        else:
            smooth = (original / wavelength - low) / (high - low)
            divisors.append(1 / ((1 - smooth) / factor + smooth))
    return divisors


NAMES = {
    "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}


def gguf_name(name):
    stem, ending = name.rsplit(".", 1)
    if stem.startswith("model.layers."):
        _, _, layer, inner = stem.split(".", 3)
        return f"blk.{layer}.{NAMES[inner]}.{ending}"
    return f"{NAMES[stem]}.{ending}"


def convert(folder, output, kind, version=3):
    """Writes `output`; returns the weights that it holds, under their checkpoint names."""
    config = json.loads((folder / "config.json").read_text())
    heads = {"q_proj": config["num_attention_heads"], "k_proj": config["num_key_value_heads"]}
    meant, entries = {}, []  # entries: name, shape, type, bytes
    for name, (shape, values) in tensors.read(folder / "model.safetensors").items():
        stored = kind if len(shape) == 2 else "f32"
        order = None
        for part, count in heads.items():
            if f".{part}." in name:
                order = permuted(shape[0], count)
                values = reorder(values, [shape[0], len(values) // shape[0]], order)
        data, values = encode(values, stored)
        entries.append((gguf_name(name), shape, stored, data))
        if order:
            back = sorted(range(len(order)), key=order.__getitem__)
            values = reorder(values, [shape[0], len(values) // shape[0]], back)
        meant[name] = (shape, values)
    if config["rope_parameters"]["rope_type"] == "llama3":
        divisors = llama3_divisors(config)
        entries.append(("rope_freqs.weight", [len(divisors)], "f32", divisors.tobytes()))

    pairs = metadata(config)
    head = b"GGUF" + struct.pack("<IQQ", version, len(entries), len(pairs)) + b"".join(pairs)
    body = bytearray()
    for name, shape, stored, data in entries:
        body += b"\0" * (-len(body) % ALIGNMENT)
        head += string(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape))
        head += struct.pack("<IQ", TYPES[stored], len(body))
        body += data
    head += b"\0" * (-len(head) % ALIGNMENT)
    output.write_bytes(head + body)
    return meant
