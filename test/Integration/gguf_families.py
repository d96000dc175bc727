"""What converters do to each family: names, metadata, and how weights are changed.

A family is a dictionary: `arch`; `names`, the parts of tensor names; `keys`, metadata key (after the
architecture) -> config key or function of the config; `permuted`, whether the rows of q and k are
turned to neighbours; `norm_offset`, added to norm weights; `transposed`, parts of names whose
matrices are turned; `changed`, config keys that the file cannot say, with what a reader assumes.
"""
import array
import math

LLAMA_NAMES = {
    "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}
SANDWICH_NAMES = {
    "post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
    "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
}
FUSED_NAMES = {"self_attn.qkv_proj": "attn_qkv", "mlp.gate_up_proj": "ffn_up"}
EXPERT_NAMES = {"mlp.gate": "ffn_gate_inp", "mlp.experts.gate_proj": "ffn_gate_exps", "mlp.experts.up_proj": "ffn_up_exps",
                "mlp.experts.down_proj": "ffn_down_exps"}
GPT2_NAMES = {
    "transformer.wte": "token_embd", "transformer.wpe": "position_embd",
    "transformer.ln_f": "output_norm", "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output",
    "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down", "ln_1": "attn_norm", "ln_2": "ffn_norm",
}


def head_dim(config):
    return config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]


def rope(config):
    """The record of all layers, or of the full ones."""
    record = config["rope_parameters"]
    return record.get("full_attention", record)


def scaling(field):
    """A field of a linear record, absent otherwise."""
    return lambda config: rope(config).get(field) if rope(config)["rope_type"] == "linear" else None


def longrope_factor(config):
    record = rope(config)
    if record["rope_type"] != "longrope":
        return None
    original = record["original_max_position_embeddings"]
    return math.sqrt(1 + math.log(config["max_position_embeddings"] / original)
                     / math.log(original))


KEYS = {
    "block_count": "num_hidden_layers", "embedding_length": "hidden_size",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": head_dim, "attention.value_length": head_dim,
    "feed_forward_length": "intermediate_size", "context_length": "max_position_embeddings",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps", "vocab_size": "vocab_size",
    "rope.dimension_count": head_dim,
    "rope.freq_base": lambda config: float(rope(config)["rope_theta"]),
    "rope.scaling.type": scaling("rope_type"), "rope.scaling.factor": scaling("factor"),
}
LLAMA = {"arch": "llama", "names": LLAMA_NAMES, "keys": KEYS, "permuted": True}
GEMMA2 = {
    "arch": "gemma2", "names": LLAMA_NAMES | SANDWICH_NAMES, "permuted": False, "norm_offset": 1.0,
    "keys": KEYS | {"attention.sliding_window": "sliding_window",
                    "attn_logit_softcapping": "attn_logit_softcapping",
                    "final_logit_softcapping": "final_logit_softcapping"},
    "changed": {"query_pre_attn_scalar": head_dim},
}
FAMILIES = {
    "llama": LLAMA,
    "gemma2": GEMMA2,
    "gemma3_text": GEMMA2 | {
        "arch": "gemma3",
        "keys": KEYS | {"attention.sliding_window": "sliding_window",
                        "rope.freq_base_swa": lambda config: float(
                            config["rope_parameters"]["sliding_attention"]["rope_theta"])},
    },
    "granite": LLAMA | {
        "arch": "granite",
        "keys": KEYS | {"embedding_scale": "embedding_multiplier",
                        "attention.scale": "attention_multiplier",
                        "residual_scale": "residual_multiplier", "logit_scale": "logits_scaling"},
    },
    "olmo2": LLAMA | {"arch": "olmo2", "names": LLAMA_NAMES | SANDWICH_NAMES, "permuted": False},
    "phi3": {
        "arch": "phi3", "names": LLAMA_NAMES | FUSED_NAMES, "permuted": False,
        "keys": {key: value for key, value in KEYS.items() if "_length" not in key
                 or not key.startswith("attention")} | {
            "attention.sliding_window": "sliding_window",
            "rope.dimension_count": lambda config: int(
                head_dim(config) * rope(config)["partial_rotary_factor"]),
            "rope.scaling.original_context_length": lambda config: rope(config).get(
                "original_max_position_embeddings"),
            "rope.scaling.attn_factor": longrope_factor,
        },
    },
    "gpt2": {
        "arch": "gpt2", "names": GPT2_NAMES, "permuted": False,
        "transposed": ("c_attn.weight", "c_proj.weight", "c_fc.weight"),
        "keys": {"block_count": "n_layer", "embedding_length": "n_embd",
                 "attention.head_count": "n_head", "feed_forward_length": "n_inner",
                 "context_length": "n_positions", "vocab_size": "vocab_size",
                 "attention.layer_norm_epsilon": "layer_norm_epsilon"},
    },
}
# With layer norms; names of their own stand in each family.
NORM_KEYS = {key: value for key, value in KEYS.items() if "rms" not in key} | {
    "attention.layer_norm_epsilon": "layer_norm_eps"}
PLAIN_MLP = {"mlp.fc1": "ffn_up", "mlp.fc2": "ffn_down", "mlp.c_fc": "ffn_up",
             "mlp.c_proj": "ffn_down"}


def turned_width(config):
    return int(head_dim(config) * rope(config).get("partial_rotary_factor", 1.0))


FAMILIES |= {
    "gpt_bigcode": {
        "arch": "starcoder", "names": GPT2_NAMES, "permuted": False,
        "keys": FAMILIES["gpt2"]["keys"] | {
            "attention.head_count_kv": lambda config: 1,
            "feed_forward_length": lambda config: 4 * config["n_embd"]},
    },
    "starcoder2": {
        "arch": "starcoder2", "names": LLAMA_NAMES | PLAIN_MLP, "permuted": False,
        "keys": NORM_KEYS | {"attention.layer_norm_epsilon": "norm_epsilon",
                             "attention.sliding_window": "sliding_window"},
    },
    "phi": {
        "arch": "phi2", "permuted": False,
        "names": LLAMA_NAMES | PLAIN_MLP | {"model.final_layernorm": "output_norm",
                                            "self_attn.dense": "attn_output"},
        "keys": NORM_KEYS | {"rope.dimension_count": turned_width},
    },
    "stablelm": {
        "arch": "stablelm", "names": LLAMA_NAMES, "permuted": False,
        "keys": NORM_KEYS | {"rope.dimension_count": turned_width,
                             "use_parallel_residual": "use_parallel_residual"},
    },
    "cohere": {
        "arch": "command-r", "names": LLAMA_NAMES, "permuted": False,
        "keys": NORM_KEYS | {"logit_scale": "logit_scale"},
    },
    "cohere2": {
        "arch": "cohere2", "names": LLAMA_NAMES, "permuted": False,
        "keys": NORM_KEYS | {"logit_scale": "logit_scale",
                             "attention.sliding_window": "sliding_window"},
    },
    "nemotron": {
        "arch": "nemotron", "names": LLAMA_NAMES, "permuted": False, "norm_offset": 1.0,
        "keys": NORM_KEYS | {"attention.layer_norm_epsilon": "norm_eps",
                             "rope.dimension_count": turned_width},
    },
    "olmo": {
        "arch": "olmo", "names": LLAMA_NAMES, "permuted": True,
        "keys": NORM_KEYS | {"attention.layer_norm_epsilon": lambda config: 1e-5,
                             "attention.clamp_kqv": "clip_qkv"},
    },
    "arcee": LLAMA | {"arch": "arcee"},
    "smollm3": LLAMA | {"arch": "smollm3", "changed": {"no_rope_layers": lambda config: [1, 1, 1, 0],
                                                       "no_rope_layer_interval": lambda config: 4}},
    "seed_oss": LLAMA | {
        "arch": "seed_oss", "permuted": False,
        "names": LLAMA_NAMES | {"post_attention_layernorm": "post_attention_norm"}},
}
EXPERT_KEYS = {"expert_count": "num_experts", "expert_used_count": "num_experts_per_tok"}
FAMILIES |= {
    "olmoe": LLAMA | {
        "arch": "olmoe", "permuted": False, "keys": KEYS | EXPERT_KEYS | {"attention.clamp_kqv": "clip_qkv"},
        "names": LLAMA_NAMES | EXPERT_NAMES | {"post_attention_layernorm": "ffn_norm", "self_attn.q_norm": "attn_q_norm",
                                               "self_attn.k_norm": "attn_k_norm"}},
    "minimax_m2": {
        "arch": "minimax-m2", "permuted": False,
        "keys": KEYS | EXPERT_KEYS | {
            "expert_count": "num_local_experts", "expert_feed_forward_length": "intermediate_size",
            "expert_gating_func": lambda config: 2, "rope.dimension_count": turned_width},
        "names": LLAMA_NAMES | {
            "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm", "block_sparse_moe.gate": "ffn_gate_inp",
            "block_sparse_moe.experts.w1": "ffn_gate_exps", "block_sparse_moe.experts.w2": "ffn_down_exps",
            "block_sparse_moe.experts.w3": "ffn_up_exps", "block_sparse_moe.e_score_correction_bias": "exp_probs_b.bias"}},
}


def of(config):
    return FAMILIES[config["model_type"]]


def metadata(config):
    """[(key, value)], integers, floats and text, without those that the config lacks."""
    family = of(config)
    pairs = [("general.architecture", family["arch"]), ("general.name", "tiny")]
    for key, source in family["keys"].items():
        value = source(config) if callable(source) else config.get(source)
        if value is not None:
            pairs.append((f"{family['arch']}.{key}", value))
    return pairs


def llama3_divisors(config):
    """Converters store the llama3 scaling as a divisor of each frequency."""
    record, size = rope(config), head_dim(config)
    original, factor = record["original_max_position_embeddings"], record["factor"]
    low, high = record["low_freq_factor"], record["high_freq_factor"]
    divisors = array.array("f")
    for i in range(0, size, 2):
        wavelength = 2 * math.pi * record["rope_theta"] ** (i / size)
        if wavelength < original / high:
            divisors.append(1)
        elif wavelength > original / low:
            divisors.append(factor)
        else:
            smooth = (original / wavelength - low) / (high - low)
            divisors.append(1 / ((1 - smooth) / factor + smooth))
    return divisors


def rope_tensors(config):
    """name -> numbers, beside the weights."""
    record = rope(config) if "rope_parameters" in config else {"rope_type": "default"}
    if record["rope_type"] == "llama3":
        return {"rope_freqs.weight": llama3_divisors(config)}
    if record["rope_type"] == "longrope":
        return {f"rope_factors_{length}.weight": array.array("f", record[f"{length}_factor"])
                for length in ("long", "short")}
    return {}
