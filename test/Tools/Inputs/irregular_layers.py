"""A config whose layers are said by two lists of their numbers, and whose blocks of layers end between."""
import json
import sys

COUNT = 48
FULL = [*range(4, COUNT + 1, 4), COUNT - 1]
ATTENTION = {
    "kda_layers": [layer for layer in range(1, COUNT + 1) if layer not in FULL], "full_attn_layers": sorted(FULL),
    "head_dim": 16, "num_heads": 4, "short_conv_kernel_size": 4, "gate_lower_bound": -5.0, "use_full_rank_gate": True,
}
json.dump({
    "model_type": "kimi_k3", "architectures": ["KimiK3ForConditionalGeneration"],
    "text_config": {
        "model_type": "kimi_linear", "linear_attn_config": ATTENTION, "attn_res_block_size": 12, "num_hidden_layers": COUNT,
        "hidden_size": 512, "intermediate_size": 1024, "moe_intermediate_size": 256, "routed_expert_hidden_size": 128,
        "num_attention_heads": 8, "num_key_value_heads": 8, "kv_lora_rank": 64, "q_lora_rank": 96, "qk_nope_head_dim": 32,
        "qk_rope_head_dim": 16, "v_head_dim": 32, "vocab_size": 1024, "max_position_embeddings": 4096, "rms_norm_eps": 0.001,
        "num_experts": 32, "num_experts_per_token": 4, "num_shared_experts": 1, "num_expert_group": 1, "topk_group": 1,
        "first_k_dense_replace": 1, "routed_scaling_factor": 1.0, "moe_renormalize": True, "moe_layer_freq": 1,
        "moe_router_activation_func": "sigmoid", "mla_use_nope": True, "mla_use_output_gate": True, "latent_moe_use_norm": True,
        "topk_method": "noaux_tc", "hidden_act": "situ", "activation_situ_beta": 4.0, "activation_situ_linear_beta": 25.0,
        "tie_word_embeddings": False,
    },
}, sys.stdout, indent=2)
