#!/usr/bin/env python3
"""Logits of tiny models whose published code is no class of transformers, computed here in f64 from their equations.

    utils/make_formula_references.py [CASE...]

Needs numpy. Writes test/Inputs/families/CASE.json, as utils/make_family_references.py does for other families:
 - baichuan2, baichuan2-alibi: Baichuan 2 of 7B and 13B (Yang et al., 2023, and their published code): the rows of
   the head divided by their lengths; rotary embeddings, or linear biases (Press et al., 2022) with slopes 2^(-8 h / H);
 - bailing_moe_v2_5: Ling 2.5 and 2.6, by their published BailingMoeV2_5ForCausalLM: linear attention whose state decays
   by a constant of head and layer, with head norms, rotary embeddings of a part of a head, a norm over groups of
   channels and a gate, in most layers; latent attention (DeepSeek-V2, 2024) in every n-th; experts as in DeepSeek-V3.
"""
import json
import sys
from pathlib import Path

import numpy as np

FAMILIES = Path(__file__).resolve().parent.parent / "test" / "Inputs" / "families"
sys.path.insert(0, str(FAMILIES))
import drawn_weights  # noqa: E402

VOCABULARY, PROMPT = 29, [3, 17, 5, 22, 9, 9, 0, 28, 14, 1]
T = len(PROMPT)


class Weights:
    """Names and shapes as they are asked for, and their drawn values."""

    def __init__(self):
        self.shapes = {}

    def __call__(self, name, *shape):
        self.shapes[name] = list(shape)
        return np.array(drawn_weights.weights(name, list(shape)), np.float64).reshape(shape)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def silu(x):
    return x * sigmoid(x)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def rms(x, eps, weight=1):
    return x / np.sqrt((x ** 2).mean(-1, keepdims=True) + eps) * weight


def angles(width, theta):
    # Frequencies are made in f32, as the published code makes them.
    frequencies = (1 / np.float32(theta) ** (np.arange(0, width, 2, dtype=np.float32) / np.float32(width))).astype(np.float64)
    return np.arange(T)[:, None] * frequencies


def halves(x, width, theta):
    """x is [T, heads, ...]: the first `width` channels turn, i with i + width / 2."""
    a = angles(width, theta)[:, None, :]
    x1, x2 = x[..., :width // 2], x[..., width // 2:width]
    return np.concatenate([x1 * np.cos(a) - x2 * np.sin(a), x2 * np.cos(a) + x1 * np.sin(a), x[..., width:]], -1)


def neighbours(x, theta):
    """All channels turn, 2i with 2i + 1."""
    a = angles(x.shape[-1], theta)[:, None, :]
    x1, x2 = x[..., 0::2], x[..., 1::2]
    return np.stack([x1 * np.cos(a) - x2 * np.sin(a), x2 * np.cos(a) + x1 * np.sin(a)], -1).reshape(x.shape)


def attention(q, k, v, scale, slopes=None):
    """[T, heads, width] each."""
    scores = np.einsum("thd,shd->hts", q, k) * scale
    distance = np.arange(T)[None, :] - np.arange(T)[:, None]
    if slopes is not None:
        scores = scores + np.array(slopes)[:, None, None] * distance
    scores = np.where(distance > 0, -np.inf, scores)
    return np.einsum("hts,shd->thd", softmax(scores), v)


def mlp(w, stem, x, width):
    d = x.shape[-1]
    gate, up = w(stem + "gate_proj.weight", width, d), w(stem + "up_proj.weight", width, d)
    return silu(x @ gate.T) * (x @ up.T) @ w(stem + "down_proj.weight", d, width).T


def baichuan(config):
    w = Weights()
    d, heads, eps = config["hidden_size"], config["num_attention_heads"], config["rms_norm_eps"]
    x = w("model.embed_tokens.weight", VOCABULARY, d)[PROMPT]
    slopes = None if "max_position_embeddings" in config else [2.0 ** (-8 * (h + 1) / heads) for h in range(heads)]
    for i in range(config["num_hidden_layers"]):
        stem = f"model.layers.{i}."
        n = rms(x, eps, w(stem + "input_layernorm.weight", d))
        q, k, v = (part.reshape(T, heads, -1) for part in np.split(n @ w(stem + "self_attn.W_pack.weight", 3 * d, d).T, 3, -1))
        if slopes is None:
            q, k = halves(q, d // heads, 10000.0), halves(k, d // heads, 10000.0)
        y = attention(q, k, v, (d // heads) ** -0.5, slopes)
        x = x + y.reshape(T, d) @ w(stem + "self_attn.o_proj.weight", d, d).T
        n = rms(x, eps, w(stem + "post_attention_layernorm.weight", d))
        x = x + mlp(w, stem + "mlp.", n, config["intermediate_size"])
    head = w("lm_head.weight", VOCABULARY, d)
    head = head / np.maximum(np.sqrt((head ** 2).sum(1, keepdims=True)), 1e-12)
    return w, rms(x, eps, w("model.norm.weight", d)) @ head.T


def lightning(w, stem, x, i, config):
    d, heads, width, eps = (config[key] for key in ("hidden_size", "num_attention_heads", "head_dim", "rms_norm_eps"))
    inner, groups = heads * width, config["group_norm_size"]
    q, k, v = np.split(x @ w(stem + "query_key_value.weight", 3 * inner, d).T, 3, -1)
    q, k, v = (part.reshape(T, heads, width) for part in (q, k, v))
    q, k = (rms(part, eps, w(stem + name + "_layernorm.weight", width)) for part, name in ((q, "query"), (k, "key")))
    turned = int(width * config["partial_rotary_factor"])
    q, k = halves(q, turned, config["rope_theta"]), halves(k, turned, config["rope_theta"])
    decay = np.exp([-(2.0 ** (-8 * (h + 1) / heads)) * (1 - (i - 1) / (config["num_hidden_layers"] - 1) + 1e-5) for h in range(heads)])
    state, rows = np.zeros((heads, width, width)), []
    for t in range(T):
        state = decay[:, None, None] * state + k[t][:, :, None] * v[t][:, None, :]
        rows.append(np.einsum("hk,hkv->hv", q[t] * width ** -0.5, state).reshape(-1))
    y = rms(np.array(rows).reshape(T, groups, inner // groups), eps).reshape(T, inner) * w(stem + "g_norm.weight", inner)
    y = y * sigmoid(x @ w(stem + "g_proj.weight", inner, d).T)
    return y @ w(stem + "dense.weight", d, inner).T


def latent(w, stem, x, config):
    d, heads, eps, theta = (config[key] for key in ("hidden_size", "num_attention_heads", "rms_norm_eps", "rope_theta"))
    rank, still, turning, values, low = (config[key] for key in ("kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "q_lora_rank"))
    r = rms(x @ w(stem + "q_a_proj.weight", low, d).T, eps, w(stem + "q_a_layernorm.weight", low))
    q = (r @ w(stem + "q_b_proj.weight", heads * (still + turning), low).T).reshape(T, heads, -1)
    c = x @ w(stem + "kv_a_proj_with_mqa.weight", rank + turning, d).T
    n = rms(c[:, :rank], eps, w(stem + "kv_a_layernorm.weight", rank))
    kv = (n @ w(stem + "kv_b_proj.weight", heads * (still + values), rank).T).reshape(T, heads, -1)
    key = np.repeat(neighbours(c[:, None, rank:], theta), heads, 1)
    q = np.concatenate([q[..., :still], neighbours(q[..., still:], theta)], -1)
    y = attention(q, np.concatenate([kv[..., :still], key], -1), kv[..., still:], (still + turning) ** -0.5)
    return y.reshape(T, -1) @ w(stem + "dense.weight", d, heads * values).T


def experts(w, stem, x, config):
    d, count, width = config["hidden_size"], config["num_experts"], config["moe_intermediate_size"]
    scores = sigmoid(x @ w(stem + "gate.weight", count, d).T)
    chosen_by = scores + w(stem + "gate.expert_bias", count)
    groups = chosen_by.reshape(T, config["n_group"], -1)
    strength = np.sort(groups, -1)[..., -2:].sum(-1)
    kept = np.argsort(-strength, -1, kind="stable")[:, :config["topk_group"]]
    masked = np.full(groups.shape, -np.inf)
    for t in range(T):
        masked[t, kept[t]] = groups[t, kept[t]]
    order = np.argsort(-masked.reshape(T, count), -1, kind="stable")[:, :config["num_experts_per_tok"]]
    made = [mlp(w, f"{stem}experts.{e}.", x, width) for e in range(count)]
    y = mlp(w, stem + "shared_experts.", x, width * config["num_shared_experts"])
    for t in range(T):
        share = scores[t, order[t]]
        share = share / (share.sum() + 1e-20) * config["routed_scaling_factor"]
        y[t] += sum(s * made[e][t] for s, e in zip(share, order[t]))
    return y


def bailing(config):
    w = Weights()
    d, eps, period = config["hidden_size"], config["rms_norm_eps"], config["layer_group_size"]
    layers = config["num_hidden_layers"]
    x = w("model.word_embeddings.weight", VOCABULARY, d)[PROMPT]
    for i in range(layers):
        stem = f"model.layers.{i}."
        n = rms(x, eps, w(stem + "input_layernorm.weight", d))
        attends = (i + 1) % period == 0 or i >= layers // period * period
        x = x + (latent(w, stem + "attention.", n, config) if attends else lightning(w, stem + "attention.", n, i, config))
        n = rms(x, eps, w(stem + "post_attention_layernorm.weight", d))
        dense = i < config["first_k_dense_replace"]
        x = x + (mlp(w, stem + "mlp.", n, config["intermediate_size"]) if dense else experts(w, stem + "mlp.", n, config))
    return w, rms(x, eps, w("model.norm.weight", d)) @ w("lm_head.weight", VOCABULARY, d).T


BAICHUAN = {"architectures": ["BaichuanForCausalLM"], "model_type": "baichuan", "vocab_size": VOCABULARY, "hidden_size": 24,
            "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 40, "rms_norm_eps": 3e-3,
            "tie_word_embeddings": False, "model_max_length": 64, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
CASES = {
    "baichuan2": (baichuan, {**BAICHUAN, "max_position_embeddings": 64}),
    "baichuan2-alibi": (baichuan, {**BAICHUAN, "z_loss_weight": 0}),
    # Five layers in groups of two: the last attends as well.
    "bailing_moe_v2_5": (bailing, {
        "architectures": ["BailingMoeV2_5ForCausalLM"], "model_type": "bailing_hybrid", "vocab_size": VOCABULARY,
        "hidden_size": 24, "num_hidden_layers": 5, "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 8,
        "intermediate_size": 40, "max_position_embeddings": 64, "rms_norm_eps": 3e-3, "rope_theta": 100.0, "rope_scaling": None,
        "rope_interleave": True, "partial_rotary_factor": 0.5, "layer_group_size": 2, "group_norm_size": 2,
        "linear_silu": False, "num_kv_heads_for_linear_attn": 4, "q_lora_rank": 14, "kv_lora_rank": 10, "qk_nope_head_dim": 6,
        "qk_rope_head_dim": 4, "qk_head_dim": 10, "v_head_dim": 5, "use_qk_norm": True, "use_bias": False, "use_qkv_bias": False,
        "first_k_dense_replace": 1, "num_experts": 8, "num_experts_per_tok": 3, "moe_intermediate_size": 12,
        "moe_shared_expert_intermediate_size": 12, "num_shared_experts": 1, "n_group": 4, "topk_group": 2,
        "routed_scaling_factor": 1.7, "norm_topk_prob": True, "score_function": "sigmoid", "moe_router_enable_expert_bias": True,
        "tie_word_embeddings": False, "hidden_act": "silu", "eos_token_id": 2, "pad_token_id": 0}),
}

for name in sys.argv[1:] or CASES:
    make, config = CASES[name]
    weights, logits = make(config)
    made = {"config": config, "tensors": weights.shapes, "prompt": PROMPT,
            "logits": [[float(f"{x:.7g}") for x in row] for row in logits]}
    lines = ",\n ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in made.items())
    (FAMILIES / f"{name}.json").write_text("{" + lines + "}\n")
    print(f"{name}: {len(weights.shapes)} tensors, largest logit {np.abs(logits).max():.3g}")
