#!/usr/bin/env python3
"""Models for the commands of the documentation. Standard library only.

    make_models.py tiny FOLDER     a llama of 4 layers with seeded weights and a tokenizer of bytes
    make_models.py smollm2 FILE    a GGUF file with the headers of SmolLM2-135M-Instruct Q4_1; the
                                   weights are a hole in the file, so it compiles with --weights=none
"""
import json
import os
import random
import struct
import sys

TINY = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 257,
    "max_position_embeddings": 256,
    "rms_norm_eps": 1e-05,
    "rope_theta": 10000.0,
    "hidden_act": "silu",
    "tie_word_embeddings": False,
    "eos_token_id": 256,
}


def tiny_tensors(c):
    d, f, v = c["hidden_size"], c["intermediate_size"], c["vocab_size"]
    kv = d // c["num_attention_heads"] * c["num_key_value_heads"]
    yield "model.embed_tokens.weight", [v, d]
    for i in range(c["num_hidden_layers"]):
        layer = f"model.layers.{i}."
        yield layer + "input_layernorm.weight", [d]
        yield layer + "post_attention_layernorm.weight", [d]
        for name, shape in {"q": [d, d], "k": [kv, d], "v": [kv, d], "o": [d, d]}.items():
            yield f"{layer}self_attn.{name}_proj.weight", shape
        for name, shape in {"gate": [f, d], "up": [f, d], "down": [d, f]}.items():
            yield f"{layer}mlp.{name}_proj.weight", shape
    yield "model.norm.weight", [d]
    yield "lm_head.weight", [v, d]


def byte_characters():
    """The published table of byte-level BPE: a printable character for every byte."""
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in kept]
    table = {b: chr(b) for b in kept}
    table.update({b: chr(256 + i) for i, b in enumerate(others)})
    return [table[b] for b in range(256)]


def write_tiny(folder):
    os.makedirs(folder, exist_ok=True)
    draw = random.Random(7)
    header, data = {}, b""
    for name, shape in tiny_tensors(TINY):
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        if len(shape) == 1:
            values = [1 + draw.gauss(0, 0.05) for _ in range(count)]
        else:
            values = [draw.gauss(0, shape[1] ** -0.5) for _ in range(count)]
        piece = struct.pack(f"<{count}f", *values)
        header[name] = {
            "dtype": "F32",
            "shape": shape,
            "data_offsets": [len(data), len(data) + len(piece)],
        }
        data += piece
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(folder, "model.safetensors"), "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text + data)
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as out:
        json.dump(TINY, out, indent=2)
    end = {"id": 256, "content": "<|end|>", "special": True, "single_word": False, "lstrip": False,
           "rstrip": False, "normalized": False}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
                  "use_regex": True}
    tokenizer = {
        "version": "1.0",
        "added_tokens": [end],
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": byte_level,
        "decoder": byte_level,
        "model": {"type": "BPE", "vocab": {c: i for i, c in enumerate(byte_characters())},
                  "merges": []},
    }
    with open(os.path.join(folder, "tokenizer.json"), "w", encoding="utf-8") as out:
        json.dump(tokenizer, out)


def write_smollm2(path):
    f32, q4_1, q8_0 = 0, 3, 8
    bytes_of = {f32: (1, 4), q4_1: (32, 20), q8_0: (32, 34)}
    d, kv, f, v, layers = 576, 192, 1536, 49152, 30
    tensors = [("token_embd.weight", [v, d], q8_0), ("output_norm.weight", [d], f32)]
    for i in range(layers):
        tensors += [
            (f"blk.{i}.attn_norm.weight", [d], f32),
            (f"blk.{i}.attn_q.weight", [d, d], q4_1),
            (f"blk.{i}.attn_k.weight", [kv, d], q4_1),
            (f"blk.{i}.attn_v.weight", [kv, d], q4_1),
            (f"blk.{i}.attn_output.weight", [d, d], q4_1),
            (f"blk.{i}.ffn_norm.weight", [d], f32),
            (f"blk.{i}.ffn_gate.weight", [f, d], q4_1),
            (f"blk.{i}.ffn_up.weight", [f, d], q4_1),
            (f"blk.{i}.ffn_down.weight", [d, f], q4_1),
        ]

    def text(s):
        return struct.pack("<Q", len(s)) + s.encode()

    def u32(key, value):
        return text(key) + struct.pack("<II", 4, value)

    def f32_of(key, value):
        return text(key) + struct.pack("<If", 6, value)

    keys = [
        text("general.architecture") + struct.pack("<I", 8) + text("llama"),
        u32("llama.block_count", layers),
        u32("llama.embedding_length", d),
        u32("llama.attention.head_count", 9),
        u32("llama.attention.head_count_kv", 3),
        u32("llama.feed_forward_length", f),
        u32("llama.context_length", 8192),
        u32("llama.vocab_size", v),
        u32("llama.rope.dimension_count", 64),
        f32_of("llama.rope.freq_base", 100000.0),
        f32_of("llama.attention.layer_norm_rms_epsilon", 1e-5),
    ]
    infos, offset = b"", 0
    for name, shape, kind in tensors:
        infos += text(name) + struct.pack("<I", len(shape))
        infos += b"".join(struct.pack("<Q", n) for n in reversed(shape))
        infos += struct.pack("<IQ", kind, offset)
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        block, size = bytes_of[kind]
        offset += (count // block * size + 31) // 32 * 32
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys)) + b"".join(keys) + infos
    head += b"\0" * (-len(head) % 32)
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as out:
        out.write(head)
        out.truncate(len(head) + offset)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("tiny", "smollm2"):
        sys.exit(__doc__)
    (write_tiny if sys.argv[1] == "tiny" else write_smollm2)(sys.argv[2])
