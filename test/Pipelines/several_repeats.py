"""Writes config.json of a tiny qwen3_next whose first kind of layer stands in three repeats, and
of a tiny gemma3n, into the folders named."""

import json
import os
import sys

FAMILIES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Inputs", "families")


def write(folder, family, **changes):
    config = json.load(open(os.path.join(FAMILIES, family + ".json")))["config"]
    os.makedirs(folder)
    json.dump(config | changes, open(os.path.join(folder, "config.json"), "w"))


linear, full = "linear_attention", "full_attention"
write(sys.argv[1], "qwen3_next", num_hidden_layers=5, mlp_only_layers=[1],
      layer_types=[linear, linear, linear, full, linear])
write(sys.argv[2], "gemma3n")
