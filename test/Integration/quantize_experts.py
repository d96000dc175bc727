"""Experts that llmc quantises give the numbers of the blocks, however their tensors lie.

usage: quantize_experts.py MODEL --type FORMAT --work DIR

Makes a twin of MODEL whose experts have rows of whole blocks of 32. The artifact computes what
the evaluator computes of the quantised experts, which is not what the float weights give; every
tensor of expert matrices is reported, and no router is.
"""
import argparse
import json
import random
import re
import shutil
import sys
from array import array
from pathlib import Path

import tensors

CPU_BOUND = 2e-5
WIDTH = 32  # of an expert
EXPERTS = re.compile(r"\bexperts\b|block_sparse_moe\.(in|out)put_linear\b")
PROMPT = [(7 * i * i + 3 * i + 5) % 29 for i in range(24)]


def is_expert(name, shape):
    return EXPERTS.search(name) and len(shape) >= 2 and "bias" not in name


def widen(folder):
    """Experts as wide as a block; their weights are drawn again."""
    config = json.loads((folder / "config.json").read_text())
    key = "moe_intermediate_size" if "moe_intermediate_size" in config else "intermediate_size"
    narrow = config[key]
    config[key] = WIDTH
    (folder / "config.json").write_text(json.dumps(config))
    numbers = random.Random(5)
    weights = {}
    for name, (shape, values) in tensors.read(folder / "model.safetensors").items():
        if EXPERTS.search(name):
            shape = [WIDTH * size // narrow if size in (narrow, 2 * narrow) else size
                     for size in shape]
            count = 1
            for size in shape:
                count *= size
            values = array("f", (numbers.gauss(0, WIDTH ** -0.5) for _ in range(count)))
        weights[name] = (shape, values)
    tensors.write(folder / "model.safetensors", weights)
    return weights


def check(good, text):
    print(f"{'ok' if good else 'WRONG'}: {text}")
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--type", required=True)
    parser.add_argument("--work", type=Path, required=True)
    arguments = parser.parse_args()
    work, flag = arguments.work, f"--quantize={arguments.type}"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    tensors.call("llmc", "twin", arguments.model, "-o", work / "model")
    weights = widen(work / "model")
    experts = {name for name, (shape, _) in weights.items() if is_expert(name, shape)}
    routers = {name for name in weights if re.search(r"(\.gate|router|router\.\w+)\.weight$", name)}
    prompt = tensors.write_prompt(work / "prompt", PROMPT)
    artifact = tensors.compile_model(work / "model", work / "artifact", flag)
    got = tensors.trace(artifact, prompt, work / "got", "--greedy", 8)
    evaluator = ["--device", "evaluator", "--greedy", 8]
    want = tensors.trace(work / "model", prompt, work / "want", *evaluator, flag)
    floats = tensors.trace(work / "model", prompt, work / "floats", *evaluator)
    inner = [name for name in want if name != "greedy"]
    error, worst = tensors.compare(got, want, inner)
    cost, _ = tensors.compare(got, floats, inner)
    report = {entry["tensor"]: entry["to"]
              for entry in json.loads((artifact / "conversions.json").read_text())["tensors"]}
    formats = {report.get(name) for name in experts}
    good = [check(experts and formats == {arguments.type},
                  f"{len(experts)} tensors of experts are {formats}"),
            check(routers and not routers & set(report), f"{len(routers)} routers stay"),
            check(error <= CPU_BOUND, f"worst row {error:.1e} at {worst}"),
            check(cost > 10 * CPU_BOUND, f"floats differ by {cost:.1e}")]
    return 0 if all(good) else 1


sys.exit(main())
