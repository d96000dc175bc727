#!/usr/bin/env python3
"""Logits of tiny models as the published code gives them, for test/Integration/families-*.test.

    utils/make_family_references.py [CASE...]

Needs the packages torch and transformers (5.24 made what is committed); the tests need neither. Writes
test/Inputs/families/CASE.json: `config` as transformers saves it, `tensors` (name -> shape) of the
checkpoint, the prompt and the logits of every token. The weights follow from names and shapes
(test/Inputs/families/drawn_weights.py). The code runs in f64.
"""
import array
import json
import sys
import tempfile
from pathlib import Path

import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers.models.mistral4 import modeling_mistral4

FAMILIES = Path(__file__).resolve().parent.parent / "test" / "Inputs" / "families"
sys.path.insert(0, str(FAMILIES))
import drawn_weights  # noqa: E402

VOCABULARY, PROMPT = 29, [3, 17, 5, 22, 9, 9, 0, 28, 14, 1]
BASE = {"vocab_size": VOCABULARY, "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4,
        "intermediate_size": 40, "max_position_embeddings": 64, "bos_token_id": 1, "eos_token_id": 2,
        "pad_token_id": 0}
GROUPED = {"num_key_value_heads": 2}
RMS = {**GROUPED, "rms_norm_eps": 3e-3}
GPT = {"vocab_size": VOCABULARY, "n_embd": 24, "n_layer": 3, "n_head": 4, "n_positions": 64,
       "bos_token_id": 1, "eos_token_id": 2}
STATE = {"vocab_size": VOCABULARY, "hidden_size": 24, "layer_norm_epsilon": 3e-3, "chunk_size": 4,
         "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
NEMOTRON = {**STATE, **GROUPED, "layers_block_type": ["linear_attention", "moe", "full_attention", "mlp"],
            "num_attention_heads": 4, "head_dim": 6, "mamba_num_heads": 6, "mamba_head_dim": 8,
            "ssm_state_size": 10, "n_groups": 2, "intermediate_size": 40, "n_routed_experts": 8,
            "num_experts_per_tok": 3, "moe_intermediate_size": 12, "moe_shared_expert_intermediate_size": 20,
            "routed_scaling_factor": 1.7, "time_step_min": 0.4, "max_position_embeddings": 64}


def rope(theta=100.0, **fields):
    return {"rope_parameters": {"rope_type": "default", "rope_theta": theta, **fields}}


# Value heads twice the key heads, and one layer of attention.
DELTA = {**BASE, **RMS, "head_dim": 8, "linear_num_key_heads": 2, "linear_num_value_heads": 4,
         "linear_key_head_dim": 6, "linear_value_head_dim": 10,
         "layer_types": ["linear_attention", "linear_attention", "full_attention"],
         **rope(partial_rotary_factor=0.5)}

# Windows and full layers, of which the last two have no keys and values of their own.
LOCAL = {"num_hidden_layers": 6, "sliding_window": 4, "num_kv_shared_layers": 2, "hidden_size_per_layer_input": 5,
         "layer_types": ["sliding_attention", "full_attention"] * 3,
         "rope_parameters": {"sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
                             "full_attention": {"rope_type": "default", "rope_theta": 10000.0}}}

EXPERTS = {"num_experts": 8, "num_experts_per_tok": 3, "moe_intermediate_size": 12}

# Latent attention, and experts beside shared ones behind a dense layer.
LATENT = {**BASE, "rms_norm_eps": 3e-3, "num_key_value_heads": 4, "q_lora_rank": 14, "kv_lora_rank": 10,
          "qk_nope_head_dim": 6, "qk_rope_head_dim": 4, "v_head_dim": 5, "n_routed_experts": 8,
          "num_experts_per_tok": 3, "moe_intermediate_size": 12, "n_shared_experts": 2, "n_group": 4, "topk_group": 2,
          "routed_scaling_factor": 1.7, "first_k_dense_replace": 1}
STRETCHED = {"rope_type": "yarn", "factor": 4.0, "beta_fast": 3.0, "beta_slow": 1.0, "mscale": 0.7,
             "mscale_all_dim": 0.9, "original_max_position_embeddings": 8}
# So many heads that no score is zero, and equal to another.
INDEXED = {"index_topk": 4, "index_head_dim": 8, "index_n_heads": 12}

# A mixer beside attention, each of whose parts has a factor.
SIDE = {"mamba_d_ssm": 40, "mamba_n_heads": 5, "mamba_n_groups": 1, "mamba_d_state": 10, "mamba_chunk_size": 4,
        "embedding_multiplier": 1.5, "lm_head_multiplier": 0.8, "key_multiplier": 0.7, "attention_in_multiplier": 1.2,
        "attention_out_multiplier": 0.9, "ssm_in_multiplier": 1.1, "ssm_out_multiplier": 1.3,
        "ssm_multipliers": [0.8, 1.2, 0.7, 1.4, 0.9], "mlp_multipliers": [1.3, 0.6]}

# case: (model_type, what the config says besides). Norm epsilons are large, so that a wrong one shows.
CASES = {
    "gptj": ("gptj", {**GPT, "rotary_dim": 4, "layer_norm_epsilon": 3e-3}),
    "gpt_neo": ("gpt_neo", {"vocab_size": VOCABULARY, "hidden_size": 24, "num_layers": 4, "num_heads": 4,
                            "max_position_embeddings": 64, "attention_types": [[["global", "local"], 2]],
                            "window_size": 4, "layer_norm_epsilon": 3e-3}),
    "gpt_neox": ("gpt_neox", {**BASE, "hidden_size": 32, "rotary_pct": 0.5, "layer_norm_eps": 3e-3}),
    "gpt_neox-serial": ("gpt_neox", {**BASE, "use_parallel_residual": False, "attention_bias": False,
                                     "layer_norm_eps": 3e-3, **rope(partial_rotary_factor=1.0)}),
    "gpt_bigcode": ("gpt_bigcode", {**GPT, "layer_norm_epsilon": 3e-3}),
    "opt": ("opt", {**BASE, "ffn_dim": 40, "word_embed_proj_dim": 24}),
    "opt-post": ("opt", {**BASE, "ffn_dim": 40, "word_embed_proj_dim": 16, "do_layer_norm_before": False}),
    "phi": ("phi", {**BASE, **GROUPED, "layer_norm_eps": 3e-3, **rope(partial_rotary_factor=0.5, theta=50.0),
                    "hidden_size": 32}),
    "starcoder2": ("starcoder2", {**BASE, **GROUPED, "sliding_window": 5, "norm_epsilon": 3e-3, **rope()}),
    "stablelm": ("stablelm", {**BASE, **GROUPED, "use_qkv_bias": True, "layer_norm_eps": 3e-3, "hidden_size": 32,
                              **rope(partial_rotary_factor=0.5)}),
    "stablelm-parallel": ("stablelm", {**BASE, **GROUPED, "use_parallel_residual": True, "hidden_size": 32,
                                       "layer_norm_eps": 3e-3, **rope(partial_rotary_factor=0.25)}),
    "cohere": ("cohere", {**BASE, **GROUPED, "layer_norm_eps": 3e-3, "logit_scale": 0.3, **rope()}),
    "cohere2": ("cohere2", {**BASE, **GROUPED, "num_hidden_layers": 4, "sliding_window": 4,
                            "layer_norm_eps": 3e-3, "logit_scale": 0.3, **rope()}),
    "cohere-heads": ("cohere", {**BASE, **GROUPED, "layer_norm_eps": 3e-3, "use_qk_norm": True, **rope()}),
    "phi-heads": ("phi", {**BASE, **GROUPED, "layer_norm_eps": 3e-3, "qk_layernorm": True, "hidden_size": 32,
                          **rope(partial_rotary_factor=0.5)}),
    "smollm3": ("smollm3", {**BASE, **RMS, "num_hidden_layers": 4, "no_rope_layer_interval": 2, **rope()}),
    "exaone4": ("exaone4", {**BASE, **RMS, "num_hidden_layers": 4, "sliding_window": 4, **rope()}),
    "exaone4-full": ("exaone4", {**BASE, **RMS, "sliding_window": None,
                                 "layer_types": ["full_attention"] * 3, **rope()}),
    "glm": ("glm", {**BASE, **RMS, "head_dim": 8, **rope(partial_rotary_factor=0.5)}),
    "glm4": ("glm4", {**BASE, **RMS, "head_dim": 8, **rope(partial_rotary_factor=0.5)}),
    "ernie4_5": ("ernie4_5", {**BASE, **RMS, "head_dim": 8, "use_bias": True, **rope()}),
    "seed_oss": ("seed_oss", {**BASE, **RMS, "head_dim": 8, **rope()}),
    "hunyuan_v1_dense": ("hunyuan_v1_dense", {**BASE, **RMS, "head_dim": 8, **rope()}),
    "helium": ("helium", {**BASE, **RMS, "head_dim": 6, **rope()}),
    "olmo3": ("olmo3", {**BASE, **RMS, "num_hidden_layers": 4, "sliding_window": 4, "rope_parameters": {
        "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
        "full_attention": {"rope_type": "linear", "rope_theta": 200.0, "factor": 2.0}}}),
    "ministral": ("ministral", {**BASE, **RMS, "head_dim": 8, "sliding_window": 4, "layer_types":
                                ["full_attention", "sliding_attention", "full_attention"], **rope()}),
    "bloom": ("bloom", {"vocab_size": VOCABULARY, "hidden_size": 24, "n_layer": 3, "n_head": 4,
                        "layer_norm_epsilon": 3e-3}),
    # Six heads: their slopes are no powers of one number.
    "bloom-six": ("bloom", {"vocab_size": VOCABULARY, "hidden_size": 24, "n_layer": 2, "n_head": 6,
                            "layer_norm_epsilon": 3e-3}),
    "falcon": ("falcon", {**BASE, "ffn_hidden_size": 40, "layer_norm_epsilon": 3e-3, **rope()}),
    "falcon-newer": ("falcon", {**BASE, "ffn_hidden_size": 40, "num_kv_heads": 2, "new_decoder_architecture": True, "bias": True,
                                "layer_norm_epsilon": 3e-3, **rope()}),
    "falcon-serial": ("falcon", {**BASE, "ffn_hidden_size": 40, "multi_query": False, "parallel_attn": False,
                                 "layer_norm_epsilon": 3e-3, **rope()}),
    "olmo": ("olmo", {**BASE, **GROUPED, "clip_qkv": 0.5, **rope()}),
    "nemotron": ("nemotron", {**BASE, **GROUPED, "norm_eps": 3e-3, "hidden_size": 32,
                              **rope(partial_rotary_factor=0.5)}),
    "arcee": ("arcee", {**BASE, **RMS, "mlp_bias": True, **rope()}),
    "apertus": ("apertus", {**BASE, **RMS, **rope()}),
    # Chunks shorter than the prompt, and steps that meet both limits.
    "mamba2": ("mamba2", {**STATE, "num_heads": 6, "head_dim": 8, "state_size": 10, "n_groups": 2,
                          "num_hidden_layers": 2, "time_step_limit": [0.4, 0.9]}),
    # Channels with states of their own; steps, keys and queries as they come and normalised.
    "mamba": ("mamba", {**{key: value for key, value in STATE.items() if key != "chunk_size"}, "state_size": 5,
                        "num_hidden_layers": 2, "expand": 3, "tie_word_embeddings": False}),
    "falcon_mamba": ("falcon_mamba", {**{key: value for key, value in STATE.items() if key != "chunk_size"},
                                      "state_size": 5, "num_hidden_layers": 2, "time_step_rank": 3, "use_bias": True,
                                      "mixer_rms_eps": 2e-3}),
    "jamba": ("jamba", {**BASE, **RMS, "num_experts": 4, "attn_layer_period": 3, "attn_layer_offset": 1, "mamba_d_state": 5,
                        "mamba_dt_rank": 3, "num_experts_per_tok": 2, "tie_word_embeddings": False}),
    # Three heads of 10 channels of the recurrence, of 8 of attention; a window shorter than the prompt.
    "recurrent_gemma": ("recurrent_gemma", {
        **{key: value for key, value in BASE.items() if key != "max_position_embeddings"},
        "num_attention_heads": 3, "num_key_value_heads": 1, "lru_width": 30,
        "attention_window_size": 4, "rms_norm_eps": 3e-3, "logits_soft_cap": 3.0, "num_hidden_layers": 4,
        "block_types": ["recurrent", "attention"], **rope(partial_rotary_factor=0.5)}),
    "nemotron_h": ("nemotron_h", {**NEMOTRON, "moe_latent_size": 16, "n_group": 2, "topk_group": 1}),
    "nemotron_h-wide": ("nemotron_h", {**NEMOTRON, "norm_topk_prob": False, "use_bias": True, "mlp_bias": True}),
    "qwen3_next": ("qwen3_next", {**DELTA, "num_experts": 8, "num_experts_per_tok": 3, "mlp_only_layers": [1],
                                  "moe_intermediate_size": 12, "shared_expert_intermediate_size": 20}),
    "qwen3_5": ("qwen3_5_text", {**DELTA, "attention_bias": True}),
    "qwen3_5_moe": ("qwen3_5_moe_text", {**DELTA, "num_experts": 8, "num_experts_per_tok": 3,
                                         "moe_intermediate_size": 12, "shared_expert_intermediate_size": 20}),
    "kimi_linear": ("kimi_linear", {**BASE, "rms_norm_eps": 3e-3, "num_key_value_heads": 4, "num_hidden_layers": 2, "kv_lora_rank": 10, "q_lora_rank": 14,
                                    "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 6,
                                    "linear_head_dim": 6, "linear_num_heads": 3, "num_local_experts": 8,
                                    "layer_types": ["linear_attention", "full_attention"],
                                    "mlp_layer_types": ["sparse", "sparse"], "n_group": 4, "topk_group": 2,
                                    "num_experts_per_tok": 3, "moe_intermediate_size": 12, "n_shared_experts": 2}),
    "mixtral": ("mixtral", {**BASE, **RMS, "head_dim": 8, "num_local_experts": 5, "num_experts_per_tok": 2, **rope()}),
    "qwen2_moe": ("qwen2_moe", {**BASE, **RMS, **EXPERTS, "shared_expert_intermediate_size": 20,
                                "use_sliding_window": True, "sliding_window": 4, "max_window_layers": 2, **rope()}),
    "qwen3_moe": ("qwen3_moe", {**BASE, **RMS, **EXPERTS, "head_dim": 8, "norm_topk_prob": True,
                                "mlp_only_layers": [1], "attention_bias": True, **rope()}),
    "olmoe": ("olmoe", {**BASE, **RMS, "num_experts": 8, "num_experts_per_tok": 3, "clip_qkv": 0.5, **rope()}),
    "granitemoe": ("granitemoe", {**BASE, **RMS, "num_local_experts": 8, "num_experts_per_tok": 3,
                                  "embedding_multiplier": 1.5, "attention_multiplier": 0.4,
                                  "residual_multiplier": 0.7, "logits_scaling": 1.3, **rope()}),
    "glm4_moe": ("glm4_moe", {**BASE, **RMS, "head_dim": 8, "n_routed_experts": 8, "num_experts_per_tok": 3,
                              "moe_intermediate_size": 12, "n_shared_experts": 2, "n_group": 4, "topk_group": 2,
                              "routed_scaling_factor": 1.7, "use_qk_norm": True, "attention_bias": True,
                              **rope(partial_rotary_factor=0.5)}),
    "minimax_m2": ("minimax_m2", {**BASE, **RMS, "head_dim": 8, "num_local_experts": 8, "num_experts_per_tok": 3,
                                  **rope(partial_rotary_factor=0.5)}),
    "gpt_oss": ("gpt_oss", {**BASE, **RMS, "head_dim": 8, "num_local_experts": 5, "num_experts_per_tok": 2,
                            "sliding_window": 4, "swiglu_limit": 0.8, **rope(
                                rope_type="yarn", factor=4.0, beta_fast=3.0, beta_slow=1.0, truncate=False,
                                original_max_position_embeddings=32)}),
    "llama4": ("llama4_text", {**BASE, **RMS, "head_dim": 8, "num_hidden_layers": 4, "num_local_experts": 5,
                               "num_experts_per_tok": 2, "intermediate_size_mlp": 28, "moe_layers": [1, 2],
                               "no_rope_layer_interval": 3, "attention_chunk_size": 4, "floor_scale": 3,
                               "attn_scale": 0.4, **rope()}),
    "dots1": ("dots1", {**BASE, **RMS, "n_routed_experts": 8, "num_experts_per_tok": 3, "moe_intermediate_size": 12,
                        "n_shared_experts": 1, "n_group": 2, "topk_group": 1, "norm_topk_prob": True,
                        "first_k_dense_replace": 1, "sliding_window": 4, "max_window_layers": 1,
                        "routed_scaling_factor": 1.7, "attention_bias": True, **rope()}),
    "granitemoeshared": ("granitemoeshared", {**BASE, **RMS, "num_local_experts": 8, "num_experts_per_tok": 3,
                                              "shared_intermediate_size": 20, "residual_multiplier": 0.7, **rope()}),
    "flex_olmo": ("flex_olmo", {**BASE, **RMS, "num_experts": 8, "num_experts_per_tok": 3, "norm_topk_prob": True, **rope()}),
    "ministral3": ("ministral3", {**BASE, **RMS, "head_dim": 8, **rope(
        rope_type="yarn", factor=4.0, original_max_position_embeddings=4, llama_4_scaling_beta=0.3)}),
    "jais2": ("jais2", {**BASE, **GROUPED, "layer_norm_eps": 3e-3, **rope()}),
    "vaultgemma": ("vaultgemma", {**BASE, **RMS, "head_dim": 8, "sliding_window": 4, "query_pre_attn_scalar": 12,
                                  "attn_logit_softcapping": 1.0, "final_logit_softcapping": 2.0, **rope()}),
    "hyperclovax": ("hyperclovax", {**BASE, **RMS, "embedding_multiplier": 1.5, "residual_multiplier": 0.7,
                                    "logits_scaling": 1.3, **rope()}),
    "cwm": ("cwm", {**BASE, **RMS, "head_dim": 8, "sliding_window": 4, "num_hidden_layers": 5, **rope(
        rope_type="llama3", factor=4.0, high_freq_factor=4.0, low_freq_factor=1.0,
        original_max_position_embeddings=16)}),
    "gemma3n": ("gemma3n_text", {**BASE, **RMS, **LOCAL, "head_dim": 6, "vocab_size_per_layer_input": 23,
                                 "altup_num_inputs": 4, "altup_active_idx": 1, "laurel_rank": 5,
                                 "activation_sparsity_pattern": [0.6, 0.6, 0.0, 0.0, 0.0, 0.0],
                                 "final_logit_softcapping": 20.0}),
    "gemma4": ("gemma4_text", {**BASE, **RMS, **LOCAL, "head_dim": 6, "global_head_dim": 8,
                               "vocab_size_per_layer_input": VOCABULARY, "use_double_wide_mlp": True,
                               "final_logit_softcapping": 20.0}),
    "gemma4-moe": ("gemma4_text", {**BASE, **RMS, **LOCAL, "head_dim": 6, "global_head_dim": 8,
                                   "num_global_key_value_heads": 1, "attention_k_eq_v": True,
                                   "num_kv_shared_layers": 0, "hidden_size_per_layer_input": 0,
                                   "enable_moe_block": True, "num_experts": 8, "top_k_experts": 3,
                                   "moe_intermediate_size": 12}),
    "deepseek_v2": ("deepseek_v2", {**LATENT, "q_lora_rank": None, "topk_method": "group_limited_greedy",
                                    **rope(**STRETCHED)}),
    "deepseek_v3": ("deepseek_v3", {**LATENT, **rope(**STRETCHED)}),
    "deepseek_v3-halves": ("deepseek_v3", {**LATENT, "q_lora_rank": None, "rope_interleave": False,
                                           "norm_topk_prob": False, "attention_bias": True, **rope()}),
    "deepseek_v32": ("deepseek_v32", {**LATENT, **INDEXED, **rope(**STRETCHED)}),
    "glm_moe_dsa": ("glm_moe_dsa", {**LATENT, **INDEXED, "num_hidden_layers": 4, "n_group": 1, "topk_group": 1,
                                    "indexer_types": ["full", "shared", "full", "shared"], **rope()}),
    "hy_v3": ("hy_v3", {**BASE, **RMS, **EXPERTS, "head_dim": 8, "num_shared_experts": 2, "router_scaling_factor": 1.7,
                        "attention_bias": True, **rope()}),
    "ernie4_5_moe": ("ernie4_5_moe", {**BASE, **RMS, "moe_num_experts": 8, "moe_k": 3, "moe_intermediate_size": 12,
                                      "use_bias": True, "tie_word_embeddings": False, **rope()}),
    "laguna": ("laguna", {**BASE, **RMS, **EXPERTS, "head_dim": 8, "shared_expert_intermediate_size": 20, "sliding_window": 4,
                          "num_attention_heads_per_layer": [4, 2, 6], "moe_routed_scaling_factor": 1.7, "moe_router_logit_softcapping": 2.0,
                          "layer_types": ["full_attention", "sliding_attention", "sliding_attention"],
                          "rope_parameters": {"sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
                                              "full_attention": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}}}),
    "laguna-channels": ("laguna", {**BASE, **RMS, **EXPERTS, "head_dim": 8, "shared_expert_intermediate_size": 20, "gating": "per-element",
                                   "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 100.0}}}),
    "hunyuan_v1_moe": ("hunyuan_v1_moe", {**BASE, **RMS, "head_dim": 8, "num_experts": 8, "moe_topk": 3, **rope()}),
    "exaone_moe": ("exaone_moe", {**BASE, **RMS, **EXPERTS, "head_dim": 8, "num_shared_experts": 2, "n_group": 4, "topk_group": 2,
                                  "sliding_window": 4, "sliding_window_pattern": 3, "num_hidden_layers": 4, **rope()}),
    "afmoe": ("afmoe", {**BASE, **RMS, **EXPERTS, "head_dim": 8, "num_shared_experts": 2, "route_scale": 1.7, "sliding_window": 4,
                        "global_attn_every_n_layers": 2, "mup_enabled": True, **rope()}),
    "dbrx": ("dbrx", {"d_model": 32, "n_heads": 4, "n_layers": 3, "max_seq_len": 64, "vocab_size": VOCABULARY, "bos_token_id": 1, "eos_token_id": 2,
                      "attn_config": {"kv_n_heads": 2, "clip_qkv": 0.5, "rope_theta": 100.0},
                      "ffn_config": {"ffn_hidden_size": 20, "moe_num_experts": 8, "moe_top_k": 3}, **rope()}),
    "bamba": ("bamba", {**BASE, **RMS, "num_attention_heads": 3, "num_key_value_heads": 1, "attn_layer_indices": [1], "mamba_n_heads": 6, "mamba_n_groups": 2, "mamba_d_state": 10,
                        "mamba_chunk_size": 4, "attention_bias": True, "time_step_limit": [0.4, 0.9], **rope(partial_rotary_factor=0.5)}),
    "mpt": ("mpt", {"d_model": 24, "n_heads": 6, "n_layers": 3, "max_seq_len": 64, "vocab_size": VOCABULARY, "bos_token_id": 1,
                    "eos_token_id": 2, "layer_norm_epsilon": 3e-3, "attn_config": {"clip_qkv": 0.7, "softmax_scale": 0.6}}),
    # One layer that attends; a width that is rounded up.
    "lfm2": ("lfm2", {**BASE, **GROUPED, "norm_eps": 3e-3, "block_multiple_of": 16, "block_ffn_dim_multiplier": 1.3,
                      "conv_bias": True, "full_attn_idxs": [1], **rope()}),
    "lfm2_moe": ("lfm2_moe", {**BASE, **GROUPED, **EXPERTS, "norm_eps": 3e-3, "num_dense_layers": 1,
                              "layer_types": ["conv", "full_attention", "conv"], "routed_scaling_factor": 1.7, **rope()}),
    # A margin so wide that it holds some of the experts and not others.
    "phimoe": ("phimoe", {**BASE, **RMS, "num_local_experts": 8, "num_experts_per_tok": 2, "attention_bias": True,
                          "lm_head_bias": True, "router_jitter_noise": 0.4, **rope()}),
    # Blocks shorter than the prompt.
    "minimax": ("minimax", {**BASE, **RMS, "head_dim": 8, "num_local_experts": 5, "num_experts_per_tok": 2, "block_size": 4,
                            "num_hidden_layers": 4, "layer_types": ["linear_attention", "linear_attention", "full_attention", "linear_attention"],
                            "full_attn_alpha_factor": 1.3, "full_attn_beta_factor": 0.9, "linear_attn_alpha_factor": 0.8,
                            "linear_attn_beta_factor": 1.2, "mlp_alpha_factor": 1.1, "mlp_beta_factor": 0.7, **rope()}),
    "falcon_h1": ("falcon_h1", {**BASE, **RMS, **SIDE, "mamba_rms_norm": True, "mamba_norm_before_gate": False,
                                "projectors_bias": True, "mlp_bias": True, **rope()}),
    "falcon_h1-plain": ("falcon_h1", {**BASE, **RMS, **SIDE, "mamba_d_ssm": None, "mamba_n_heads": 6, "mamba_proj_bias": True, **rope()}),
    "granitemoehybrid": ("granitemoehybrid", {
        **BASE, **RMS, "num_local_experts": 8, "num_experts_per_tok": 3, "shared_intermediate_size": 20,
        "embedding_multiplier": 1.5, "attention_multiplier": 0.4, "residual_multiplier": 0.7, "logits_scaling": 1.3,
        "layer_types": ["linear_attention", "full_attention", "linear_attention"], "mamba_n_heads": 6, "mamba_n_groups": 2,
        "mamba_d_state": 10, "mamba_chunk_size": 4, **rope()}),
    "granitemoehybrid-dense": ("granitemoehybrid", {
        **BASE, **RMS, "num_local_experts": 0, "shared_intermediate_size": 20, "position_embedding_type": "rope",
        "layer_types": ["full_attention", "linear_attention"], "num_hidden_layers": 2, "mamba_n_heads": 6,
        "mamba_d_state": 10, "mamba_proj_bias": True, "mamba_conv_bias": False, **rope()}),
    "glm4_moe_lite": ("glm4_moe_lite", {**LATENT, "mlp_layer_types": ["sparse", "dense", "sparse"], **rope()}),
    "mistral4": ("mistral4", {**LATENT, **rope(**STRETCHED, llama_4_scaling_beta=0.3, partial_rotary_factor=0.4)}),
    # Groups of two and three tokens, more of them than the indexer leaves, behind a window of three.
    "deepseek_v4": ("deepseek_v4", {
        **BASE, "rms_norm_eps": 3e-3, "num_hidden_layers": 4, "head_dim": 8, "q_lora_rank": 14, "o_groups": 2, "o_lora_rank": 5,
        "hc_mult": 3, "hc_sinkhorn_iters": 3, "hc_eps": 1e-2, "sliding_window": 3, "index_n_heads": 3, "index_head_dim": 6,
        "index_topk": 2, "n_routed_experts": 8, "num_experts_per_tok": 3, "moe_intermediate_size": 12, "swiglu_limit": 0.5,
        "num_hash_layers": 1, "compress_ratios": [0, 4, 128, 4], "compress_rate_csa": 2, "compress_rate_hca": 3,
        "qk_rope_head_dim": 4, "rope_theta": 100.0, "compress_rope_theta": 1000.0,
        "rope_scaling": {"type": "yarn", "factor": 4.0, "beta_fast": 3.0, "beta_slow": 1.0, "original_max_position_embeddings": 16}}),
    "rwkv4": ("rwkv", {"vocab_size": VOCABULARY, "hidden_size": 24, "num_hidden_layers": 3, "attention_hidden_size": 24, "intermediate_size": 40,
                       "layer_norm_epsilon": 3e-3, "context_length": 64, "bos_token_id": 0, "eos_token_id": 0, "rescale_every": 0}),
    # As many tokens as the indexer's blocks hold in all, 12 by 4: all of them are seen.
    "minimax_m3": ("minimax_m3_vl_text", {
        **BASE, **RMS, "head_dim": 8, "rotary_dim": 4, "num_local_experts": 8, "num_experts_per_tok": 3, "intermediate_size": 12,
        "dense_intermediate_size": 40, "shared_intermediate_size": 20, "index_n_heads": 2, "index_head_dim": 4, "index_block_size": 4,
        "index_topk_blocks": 12, "layer_types": ["full_attention", "minimax_m3_sparse", "minimax_m3_sparse"], "swiglu_limit": 0.8,
        "mlp_layer_types": ["dense", "sparse", "sparse"], **rope(partial_rotary_factor=0.5)}),
    # Both kinds of attention twice, one of them behind a dense layer.
    "bailing_hybrid": ("bailing_hybrid", {
        **{key: value for key, value in LATENT.items() if key != "n_routed_experts"}, "num_hidden_layers": 4, "num_local_experts": 8,
        "head_dim": 6, "layer_group_size": 2, "kda_lower_bound": -2.5, "rms_norm_eps": 3e-3, "rope_theta": 100.0}),
    "mimo_v2_flash": ("mimo_v2_flash", {
        **BASE, "num_key_value_heads": 1, "rms_norm_eps": 3e-3, "head_dim": 12, "v_head_dim": 8, "sliding_window": 4, "num_hidden_layers": 4,
        "n_routed_experts": 8, "num_experts_per_tok": 3, "moe_intermediate_size": 12, "n_group": 1, "topk_group": 1, "routed_scaling_factor": 1.7,
        "layer_types": ["full_attention", "sliding_attention", "sliding_attention", "full_attention"], "attention_bias": True,
        "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 1000.0, "partial_rotary_factor": 0.334},
                            "sliding_attention": {"rope_type": "default", "rope_theta": 100.0, "partial_rotary_factor": 0.334}}}),
    "mistral4-own": ("mistral4", {**LATENT, "qk_nope_head_dim": 4, "max_position_embeddings": 1048576}),
}


# Buffers that the published code computes, and saves with the weights.
COMPUTED = (".slope_rate", ".query_decay", ".key_decay", ".diagonal_decay")


# Names of the release where transformers saves others.
RELEASED = {"deepseek_v4": [("model.", ""), ("embed_tokens", "embed"), ("attn.norm", "attn.kv_norm"),
                            ("hc_head.hc_", "hc_head_")],
            "minimax_m3": [(".mlp.shared_experts.", ".block_sparse_moe.shared_experts."), (".indexer.", ".index_"),
                           (".mlp.gate.e_score", ".block_sparse_moe.e_score"), (".mlp.gate.", ".block_sparse_moe.gate.")]}


# And tensors of the release that transformers saves as one, or as one for all experts.
JOINED = {"minimax_m3": [(".mlp.experts.gate_up_proj", ".block_sparse_moe.experts.{e}.{}.weight", ["w1", "w3"]),
                         (".mlp.experts.down_proj", ".block_sparse_moe.experts.{e}.{}.weight", ["w2"]),
                         (".gate_up_proj.weight", ".{}.weight", ["gate_proj", "up_proj"])]}


def released(case, name, shape):
    """The names and shapes whose elements, one tensor after another, are those of what transformers saves."""
    for end, template, parts in JOINED.get(case, []):
        if name.endswith(end):
            stem, experts = name.removesuffix(end), shape[0] if "{e}" in template else 1
            rows = [shape[-2] // len(parts), shape[-1]]
            return [found for e in range(experts) for part in parts
                    for found in released(case, stem + template.replace("{e}", str(e)).format(part), rows)]
    for saved, other in RELEASED.get(case, []):
        name = name.replace(saved, other)
    return [(name, shape)]


def tiny(case):
    model_type, settings = CASES[case]
    config = transformers.AutoConfig.for_model(model_type, **settings)
    config._attn_implementation = "eager"
    return config


def staying_wide(cast):
    def call(tensor, *args, **named):
        # Frequencies of rotary embeddings are made in f32 of whole numbers.
        if not tensor.is_floating_point():
            return cast(tensor, *args, **named)
        widen = {torch.float32: torch.float64}
        return cast(tensor, *(widen.get(arg, arg) if isinstance(arg, torch.dtype) else arg for arg in args),
                    **{name: widen.get(arg, arg) if isinstance(arg, torch.dtype) else arg
                       for name, arg in named.items()})
    return call


def reference(case, folder):
    # Published, and left out of the table of causal models.
    if CASES[case][0] == "mistral4":
        published = modeling_mistral4.Mistral4ForCausalLM
        model = published(tiny(case))
    else:
        published = transformers.AutoModelForCausalLM
        model = published.from_config(tiny(case))
    model.save_pretrained(folder)
    file = folder / "model.safetensors"
    # What follows from the config is no weight of published checkpoints.
    stored = {name: list(tensor.shape) for name, tensor in load_file(file).items()
              if not name.endswith(COMPUTED)}
    def drawn(name, shape):
        parts = [torch.tensor(drawn_weights.weights(*part)) for part in released(case, name, shape)]
        return torch.cat(parts).reshape(shape)

    save_file({name: drawn(name, shape) for name, shape in stored.items()}, file, {"format": "pt"})
    stored = dict(part for name, shape in stored.items() for part in released(case, name, shape))
    # Every cast to f32 of the published code stays in f64.
    torch.Tensor.float = torch.Tensor.double
    torch.Tensor.to = staying_wide(torch.Tensor.to)
    torch.Tensor.type = staying_wide(torch.Tensor.type)
    torch.Tensor.softmax = staying_wide(torch.Tensor.softmax)
    model = published.from_pretrained(
        folder, dtype=torch.float64, attn_implementation="eager", experts_implementation="eager").eval().double()
    with torch.no_grad():
        logits = model(torch.tensor([PROMPT]), use_cache=False).logits[0]
    config = json.loads((folder / "config.json").read_text())
    # Objects within the config as they are published, without the fields of the class they are saved by.
    config.update({key: value for key, value in CASES[case][1].items() if key.endswith("_config")})
    # Saved in full, published without: what the class means by that.
    if case.endswith("-own"):
        del config["rope_parameters"]
    return {"config": config, "tensors": stored, "prompt": PROMPT,
            "logits": [[float(f"{x:.7g}") for x in row] for row in logits.tolist()]}


for name in sys.argv[1:] or CASES:
    with tempfile.TemporaryDirectory() as scratch:
        made = reference(name, Path(scratch))
    lines = ",\n ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in made.items())
    (FAMILIES / f"{name}.json").write_text("{" + lines + "}\n")
    largest = max(abs(x) for row in made["logits"] for x in row)
    print(f"{name}: {len(made['tensors'])} tensors, largest logit {largest:.3g}")
