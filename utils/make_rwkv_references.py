#!/usr/bin/env python3
"""Logits of tiny RWKV-5, 6 and 7 models, as utils/make_family_references.py makes those of other families.

    utils/make_rwkv_references.py [CASE...]

transformers has no class for them, so their equations stand here, in f64, one token after another: those of
RWKV-5 and 6 as in the published Rwkv5ForCausalLM and Rwkv6ForCausalLM (Peng et al., 2024), with the group norm
of the first authors' code, and RWKV-7 as in RWKV7ForCausalLM (Peng et al., 2025). Needs numpy. Writes
test/Inputs/families/CASE.json.
"""
import json
import sys
from pathlib import Path

import numpy as np

FAMILIES = Path(__file__).resolve().parent.parent / "test" / "Inputs" / "families"
sys.path.insert(0, str(FAMILIES))
import drawn_weights  # noqa: E402

VOCABULARY, PROMPT = 29, [3, 17, 5, 22, 9, 9, 0, 28, 14, 1]
D, S, L = 24, 8, 3
H = D // S


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def silu(x):
    return x * sigmoid(x)


def relu2(x):
    return np.maximum(x, 0) ** 2


def layer_norm(x, weight, bias, eps):
    centred = x - x.mean(-1, keepdims=True)
    y = centred / np.sqrt((centred ** 2).mean(-1, keepdims=True) + eps)
    return y * weight + (0 if bias is None else bias)


def group_norm(x, weight, bias, eps):
    """x is [heads, width], the rest [heads * width]."""
    return layer_norm(x, 1, None, eps).reshape(-1) * weight + bias


class Weights:
    """Names and shapes as they are asked for, and their drawn values."""

    def __init__(self):
        self.shapes = {}

    def __call__(self, name, *shape):
        self.shapes[name] = list(shape)
        return np.array(drawn_weights.weights(name, list(shape)), np.float64).reshape(shape)

    def norm(self, name, bias=True):
        return self(name + ".weight", D), self(name + ".bias", D) if bias else None


def shifted(states, key, x):
    """The row before x, and x in its place."""
    before = states.get(key, np.zeros(D))
    states[key] = x
    return before


def old_layer(w, i, eps, config, states):
    """RWKV-5 or 6: a function of the stream of one token."""
    data = config["model_type"] == "rwkv6"
    a, f = f"rwkv.blocks.{i}.attention.", f"rwkv.blocks.{i}.feed_forward."
    hidden = config["intermediate_size"] or int(D * 3.5 // 32 * 32)
    ln1, ln2 = w.norm(f"rwkv.blocks.{i}.ln1"), w.norm(f"rwkv.blocks.{i}.ln2")
    prefix, names = ("time_maa_", "kvrg") if data else ("time_mix_", ["key", "value", "receptance", "gate"])
    mix = [w(a + prefix + name, 1, 1, D)[0, 0] for name in names]
    if data:
        mix_x, mix_w = (w(a + f"time_maa_{name}", 1, 1, D)[0, 0] for name in "xw")
        down, up = w(a + "time_maa_w1", D, 160), w(a + "time_maa_w2", 5, 32, D)
        decay = w(a + "time_decay", 1, 1, D)[0, 0]
        decay_down, decay_up = w(a + "time_decay_w1", D, 64), w(a + "time_decay_w2", 64, D)
    else:
        decay = w(a + "time_decay", H, S)
    bonus = w(a + "time_faaaa", H, S)
    key, value, receptance, gate, output = (w(a + name + ".weight", D, D)
                                            for name in ("key", "value", "receptance", "gate", "output"))
    ln_x = w(a + "ln_x.weight", D), w(a + "ln_x.bias", D)
    mix_k, mix_r = (w(f + prefix + name, 1, 1, D)[0, 0] for name in ("kr" if data else ("key", "receptance")))
    f_key, f_receptance, f_value = (w(f + "key.weight", hidden, D), w(f + "receptance.weight", D, D),
                                    w(f + "value.weight", D, hidden))

    def between(x, before, share):
        # The share is that of the token before in RWKV-6, of the token itself in RWKV-5.
        return x + (before - x) * share if data else x * share + before * (1 - share)

    def layer(x):
        n = layer_norm(x, *ln1, eps)
        before = shifted(states, (i, "mix"), n)
        shares, rate = mix, decay
        if data:
            low = np.tanh(between(n, before, mix_x) @ down).reshape(5, 32)
            of_w, *more = [low[j] @ up[j] for j in range(5)]
            shares = [share + other for share, other in zip(mix, more)]
            rate = decay + np.tanh(between(n, before, mix_w + of_w) @ decay_down) @ decay_up
        k, v, r, g = [matrix @ between(n, before, share)
                      for matrix, share in zip((key, value, receptance, gate), shares)]
        k, v, r, rate = (row.reshape(H, S) for row in (k, v, r, rate))
        state = states.get((i, "state"), np.zeros((H, S, S)))
        written = k[:, :, None] * v[:, None, :]
        y = np.einsum("hk,hkv->hv", r, bonus[:, :, None] * written + state)
        states[i, "state"] = np.exp(-np.exp(rate))[:, :, None] * state + written
        y = group_norm(y, *ln_x, 1e-5 * config["head_size_divisor"] ** 2) * silu(g)
        x = x + output @ y
        n = layer_norm(x, *ln2, eps)
        before = shifted(states, (i, "ffn"), n)
        y = f_value @ relu2(f_key @ between(n, before, mix_k))
        return x + sigmoid(f_receptance @ between(n, before, mix_r)) * y

    return layer


def old_model(config):
    w, eps, states = Weights(), config["layer_norm_epsilon"], {}
    table = w("rwkv.embeddings.weight", VOCABULARY, D)
    first, last = w.norm("rwkv.blocks.0.pre_ln"), w.norm("rwkv.ln_out")
    layers = [old_layer(w, i, eps, config, states) for i in range(L)]
    head = table if config["tie_word_embeddings"] else w("head.weight", VOCABULARY, D)

    def step(token):
        x = layer_norm(table[token], *first, eps)
        for layer in layers:
            x = layer(x)
        return head @ layer_norm(x, *last, eps)

    return w, step


def new_layer(w, i, config, states):
    """RWKV-7: a function of the stream of one token and of the first layer's values."""
    a, f, eps = f"model.layers.{i}.attn.", f"model.layers.{i}.ffn.", config["norm_eps"]
    attn_norm, ffn_norm = (w.norm(f"model.layers.{i}.{name}", config["norm_bias"]) for name in ("attn_norm", "ffn_norm"))
    mix = {name: w(a + f"x_{name}", 1, 1, D)[0, 0] for name in "rwkvag"}
    k_k, k_a, r_k = w(a + "k_k", D), w(a + "k_a", D), w(a + "r_k", H, S)
    r_proj, k_proj, v_proj, o_proj = (w(a + f"{name}_proj.weight", D, D) for name in "rkvo")

    def low_rank(name, key, bias=True):
        rank = config[key]
        down, up = w(a + f"{name}_lora.lora.0.weight", rank, D), w(a + f"{name}_lora.lora.2.weight", D, rank)
        offset = w(a + f"{name}_lora.lora.2.bias", D) if bias else 0
        return lambda x, between: up @ between(down @ x) + offset

    decay, rate = low_rank("w", "decay_low_rank_dim"), low_rank("a", "a_low_rank_dim")
    share = low_rank("v", "v_low_rank_dim") if i else None
    gate = low_rank("g", "gate_low_rank_dim", bias=False)
    g_norm = w(a + "g_norm.weight", D), w(a + "g_norm.bias", D)
    ffn_mix = w(f + "x_k", D)
    f_key, f_value = w(f + "key.weight", config["intermediate_size"], D), w(f + "value.weight", D, config["intermediate_size"])

    def layer(x, first):
        n = layer_norm(x, *attn_norm, eps)
        delta = shifted(states, (i, "mix"), n) - n
        r, k, v = (matrix @ (n + delta * mix[name]) for matrix, name in ((r_proj, "r"), (k_proj, "k"), (v_proj, "v")))
        factor = np.exp(-np.exp(-0.5) * sigmoid(decay(n + delta * mix["w"], np.tanh)))
        if i == 0:
            first = v
        else:
            v = v + (first - v) * sigmoid(share(n + delta * mix["v"], lambda y: y))
        learning = sigmoid(rate(n + delta * mix["a"], lambda y: y))
        g = gate(n + delta * mix["g"], sigmoid)
        removed = (k * k_k).reshape(H, S)
        length = np.sqrt((removed ** 2).sum(-1, keepdims=True) + (1e-6 if config["fuse_norm"] else 0))
        removed = removed / length
        k = k * (1 + (learning - 1) * k_a)
        r, k, v, factor, learning = (row.reshape(H, S) for row in (r, k, v, factor, learning))
        state = states.get((i, "state"), np.zeros((H, S, S)))
        # Rows are key channels.
        transition = np.einsum("hk,kj->hkj", factor, np.eye(S)) - (removed * learning)[:, :, None] * removed[:, None, :]
        state = transition @ state + k[:, :, None] * v[:, None, :]
        states[i, "state"] = state
        y = group_norm(np.einsum("hk,hkv->hv", r, state), *g_norm, S * eps)
        y = y + ((r * k * r_k).sum(-1, keepdims=True) * v).reshape(-1)
        x = x + o_proj @ (y * g)
        n = layer_norm(x, *ffn_norm, eps)
        delta = shifted(states, (i, "ffn"), n) - n
        return x + f_value @ relu2(f_key @ (n + delta * ffn_mix)), first

    return layer


def new_model(config):
    w, eps, states, biased = Weights(), config["norm_eps"], {}, config["norm_bias"]
    table = w("model.embeddings.weight", VOCABULARY, D)
    before = w.norm("model.layers.0.pre_norm", biased) if config["norm_first"] else None
    layers = [new_layer(w, i, config, states) for i in range(L)]
    last, head = w.norm("model.norm", biased), w("lm_head.weight", VOCABULARY, D)

    def step(token):
        x, first = table[token], None
        if before:
            x = layer_norm(x, *before, eps)
        for layer in layers:
            x, first = layer(x, first)
        return head @ layer_norm(x, *last, eps)

    return w, step


OLD = {"attention_hidden_size": D, "head_size": S, "head_size_divisor": 4, "hidden_size": D, "layer_norm_epsilon": 3e-3,
       "num_hidden_layers": L, "vocab_size": VOCABULARY, "bos_token_id": 0, "eos_token_id": 0, "rescale_every": 2}
NEW = {"model_type": "rwkv7", "architectures": ["RWKV7ForCausalLM"], "hidden_size": D, "head_dim": S, "num_heads": None,
       "num_hidden_layers": L, "vocab_size": VOCABULARY, "norm_eps": 3e-3, "hidden_act": "sqrelu", "hidden_ratio": 4.0,
       "intermediate_size": 40, "decay_low_rank_dim": 5, "a_low_rank_dim": 6, "v_low_rank_dim": 4, "gate_low_rank_dim": 7,
       "attn": None, "tie_word_embeddings": False, "bos_token_id": 1, "eos_token_id": 2}
CASES = {
    "rwkv5": (old_model, {**OLD, "model_type": "rwkv5", "architectures": ["Rwkv5ForCausalLM"], "intermediate_size": None,
                          "tie_word_embeddings": True}),
    "rwkv6": (old_model, {**OLD, "model_type": "rwkv6", "architectures": ["Rwkv6ForCausalLM"], "intermediate_size": 40,
                          "tie_word_embeddings": False}),
    "rwkv7": (new_model, {**NEW, "norm_first": True, "norm_bias": True, "fuse_norm": True}),
    "rwkv7-plain": (new_model, {**NEW, "norm_first": False, "norm_bias": False, "fuse_norm": False}),
}

for name in sys.argv[1:] or CASES:
    make, config = CASES[name]
    weights, step = make(config)
    logits = [step(token) for token in PROMPT]
    made = {"config": config, "tensors": weights.shapes, "prompt": PROMPT,
            "logits": [[float(f"{x:.7g}") for x in row] for row in logits]}
    lines = ",\n ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in made.items())
    (FAMILIES / f"{name}.json").write_text("{" + lines + "}\n")
    print(f"{name}: {len(weights.shapes)} tensors, largest logit {max(abs(x) for row in made['logits'] for x in row):.3g}")
