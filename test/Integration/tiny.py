"""Writes a llama folder with seeded random weights whose rows fit every quantised format.

The goldens have rows of 48 and 76 numbers; blocks of quantised weights hold 32.
"""
import array
import json
import random

import tensors

CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
    "hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 16, "num_hidden_layers": 3, "vocab_size": 131,
    "max_position_embeddings": 128, "rms_norm_eps": 0.003, "tie_word_embeddings": False,
    "bos_token_id": 1, "eos_token_id": 2, "torch_dtype": "float32",
    "rope_parameters": {"rope_type": "default", "rope_theta": 1000.0},
}
# Rows of 256 and more, for blocks of 256.
WIDE = {"hidden_size": 256, "intermediate_size": 512, "num_attention_heads": 8,
        "num_key_value_heads": 2, "head_dim": 32}
PROMPT = [(7 * i * i + 3 * i + 5) % 131 for i in range(24)]


def shapes(config):
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    head = config["head_dim"]
    q, kv = config["num_attention_heads"] * head, config["num_key_value_heads"] * head
    yield "model.embed_tokens.weight", [config["vocab_size"], hidden]
    for layer in range(config["num_hidden_layers"]):
        block = f"model.layers.{layer}."
        yield block + "input_layernorm.weight", [hidden]
        yield block + "self_attn.q_proj.weight", [q, hidden]
        yield block + "self_attn.k_proj.weight", [kv, hidden]
        yield block + "self_attn.v_proj.weight", [kv, hidden]
        yield block + "self_attn.o_proj.weight", [hidden, q]
        yield block + "post_attention_layernorm.weight", [hidden]
        yield block + "mlp.gate_proj.weight", [inner, hidden]
        yield block + "mlp.up_proj.weight", [inner, hidden]
        yield block + "mlp.down_proj.weight", [hidden, inner]
    yield "model.norm.weight", [hidden]
    yield "lm_head.weight", [config["vocab_size"], hidden]


def write(folder, seed=11, changes={}):
    numbers = random.Random(seed)
    weights = {}
    config = CONFIG | changes
    for name, shape in shapes(config):
        count, mean, spread = shape[0], 1.0, 0.3  # a norm's scale
        if len(shape) == 2:
            count, mean, spread = shape[0] * shape[1], 0.0, 1.6 * shape[1] ** -0.5
        weights[name] = (shape, array.array("f", (numbers.gauss(mean, spread)
                                                  for _ in range(count))))
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    tensors.write(folder / "model.safetensors", weights)
    return folder
