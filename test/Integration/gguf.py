"""A model as GGUF gives the numbers of the same weights as safetensors.

usage: gguf.py --type TYPE|mixed --work DIR [--golden FOLDER | --family CASE] [--version 2|3]
               [--no-permutation] [--compile-option OPTION]...

With --type mixed every matrix of a layer has a type of its own and layers differ, as in the
K_M files of real models; all block types occur.

The evaluator reads the GGUF file and, from safetensors, the weights that the file stands for:
the same numbers in another order of rows. The compiled GGUF stays within the bound of f32
arithmetic. With --golden in f32 the greedy tokens are the published ones. With
--no-permutation the rows of q and k are left as they were, and the numbers have to differ.
"""
import argparse
import json
import shutil
import sys
from pathlib import Path

import families
import gguf_blocks
import gguf_families
import gguf_model
import tensors
import tiny

MIXED = [
    {"q_proj": "q4_k", "k_proj": "q4_k", "v_proj": "q6_k", "o_proj": "q5_k",
     "gate_proj": "q4_k", "up_proj": "q4_k", "down_proj": "q6_k"},
    {"q_proj": "q2_k", "k_proj": "q3_k", "v_proj": "q4_k", "o_proj": "q3_k",
     "gate_proj": "iq4_xs", "up_proj": "iq4_xs", "down_proj": "q2_k"},
    {"q_proj": "q5_0", "k_proj": "q5_0", "v_proj": "q8_0", "o_proj": "q4_0",
     "gate_proj": "mxfp4", "up_proj": "iq4_nl", "down_proj": "q5_1"},
    {"q_proj": "q8_k", "k_proj": "q4_1", "v_proj": "f16", "o_proj": "q8_k",
     "gate_proj": "q5_k", "up_proj": "q5_k", "down_proj": "q3_k"},
]


def mixed(name):
    """The type of a matrix of the mixed model."""
    parts = name.split(".")
    if "layers" in parts:
        return MIXED[int(parts[2])][parts[4]]
    return "q6_k" if "embed_tokens" in name else "q8_0"


# Both sum in f64; divisors of frequencies are f32 in the file.
EVALUATOR_BOUND = 2e-6
CPU_BOUND = 2e-5


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--type", choices=[*gguf_model.TYPES, "mixed"], required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--golden", type=Path)
    parser.add_argument("--family")
    parser.add_argument("--version", type=int, default=3)
    parser.add_argument("--no-permutation", action="store_true")
    parser.add_argument("--compile-option", action="append", default=[])
    arguments = parser.parse_args()
    work = arguments.work
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)

    source, ids, tokens = arguments.golden, tiny.PROMPT, None
    if source:
        golden = tensors.read(source / "golden.safetensors")
        ids = golden["input_ids"][1]
        if arguments.type == "f32":
            tokens = golden["greedy"][1]
    elif arguments.family:
        source = work / "source"
        ids = families.write(arguments.family, source)["prompt"]
    else:
        changes = {}
        if arguments.type == "mixed":
            changes = tiny.WIDE | {"num_hidden_layers": len(MIXED)}
        elif arguments.type in gguf_blocks.FORMATS and gguf_blocks.FORMATS[arguments.type][1] > 32:
            changes = tiny.WIDE | {"num_hidden_layers": 1}
        source = tiny.write(work / "source", changes=changes)
    if arguments.no_permutation:
        gguf_model.permuted = lambda rows, heads: list(range(rows))
    model = work / "model.gguf"
    kind = mixed if arguments.type == "mixed" else arguments.type
    meant = gguf_model.convert(source, model, kind, arguments.version)
    plain = work / "plain"
    plain.mkdir()
    config = json.loads((source / "config.json").read_text())
    # What the file cannot say is another model than the published one.
    changed = {key: value(config)
               for key, value in gguf_families.of(config).get("changed", {}).items()}
    if any(config.get(key) != value for key, value in changed.items()):
        tokens = None
    (plain / "config.json").write_text(json.dumps(config | changed))
    tensors.write(plain / "model.safetensors", meant)

    prompt = tensors.write_prompt(work / "prompt", ids)
    steps = ["--greedy", len(tokens) if tokens else 8]
    evaluator = ["--device", "evaluator", *steps]
    want = tensors.trace(plain, prompt, work / "want", *evaluator)
    artifact = tensors.compile_model(model, work / "artifact", *arguments.compile_option)
    runs = {
        "evaluator": (tensors.trace(model, prompt, work / "got", *evaluator), EVALUATOR_BOUND),
        "cpu": (tensors.trace(artifact, prompt, work / "cpu", *steps), CPU_BOUND),
    }
    names = [name for name in want if name != "greedy"]
    good = len(names) > 4
    for device, (got, bound) in runs.items():
        error, worst = tensors.compare(got, want, names)
        same = got["greedy"][1] == want["greedy"][1] and (not tokens or got["greedy"][1] == tokens)
        good &= error <= bound and same
        print(f"{arguments.type} {device}: worst row {error:.1e} at {worst}, {bound:.0e} allowed, "
              f"greedy tokens {'equal' if same else 'differ'}")
    return 0 if good else 1


sys.exit(main())
