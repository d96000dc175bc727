"""Configs of a small llama whose weights are quantised in different ways: CONFIG FOLDER."""

import json
import pathlib
import sys

config = json.loads(pathlib.Path(sys.argv[1]).read_text())
config.update(hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
              num_key_value_heads=4, head_dim=16, vocab_size=128, max_position_embeddings=128)
FP8 = {"quant_method": "fp8", "weight_block_size": [32, 32]}
QUANTIZATION = {
    "fp8": FP8,
    "left": {**FP8, "modules_to_not_convert": ["model.layers.*.mlp.down_proj", "lm_head"]},
    "gptq": {"quant_method": "gptq", "bits": 4, "group_size": 32},
    "nvfp4": {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head"]},
    "gptq3": {"quant_method": "gptq", "bits": 3, "group_size": 32},
    "unknown": {"quant_method": "quip"},
    "list": [],
    "text": "x",
}
for name, quantization in QUANTIZATION.items():
    folder = pathlib.Path(sys.argv[2]) / name
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps({**config, "quantization_config": quantization}))
