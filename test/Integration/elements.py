"""Arithmetic of descriptions on the CPU against the evaluator, whatever fusions, variants and steps.

usage: elements.py --work DIR [--width D] [--heads H]
"""
import argparse
import json
import shutil
import sys
from pathlib import Path

import tensors

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "Inputs" / "families"))
import drawn_weights  # noqa: E402

ALLOWED = 1e-5


def make_model(folder, width, heads, layers, vocabulary):
    cut, head = width // 3, width // heads
    shapes = {
        "embed.weight": [vocabulary, width], "part_embed.weight": [vocabulary // 2, width],
        "out_scale": [width], "head.weight": [vocabulary, width],
    }
    for i in range(layers):
        shapes |= {f"layers.{i}.{name}": shape for name, shape in {
            "heads.weight": [heads, width], "heads.bias": [heads], "channels": [head],
            "all": [heads, head], "per_head": [heads], "turned.weight": [width, width],
            "mixing.weight": [heads * heads, width], "tail": [width - cut], "one": [1],
            "scale_norm.weight": [width]}.items()}
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({
        "model_type": "elements", "num_hidden_layers": layers, "hidden_size": width,
        "num_attention_heads": heads, "vocab_size": vocabulary, "max_position_embeddings": 64}))
    tensors.write(folder / "model.safetensors",
                  {name: (shape, drawn_weights.weights(name, shape)) for name, shape in shapes.items()})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--width", type=int, default=60)
    parser.add_argument("--heads", type=int, default=5)
    arguments = parser.parse_args()
    work, model = arguments.work, arguments.work / "model"
    shutil.rmtree(work, ignore_errors=True)
    vocabulary = 40
    make_model(model, arguments.width, arguments.heads, 3, vocabulary)
    description = ["--description", HERE / "elements.jsonc"]
    ids = [(i * 17 + 3) % vocabulary for i in range(23)]
    prompt = tensors.write_prompt(work / "prompt", ids)
    want = tensors.trace(model, prompt, work / "want", "--device", "evaluator", *description)
    failures = []
    first = None
    for fusion in ("on", "off"):
        artifact = tensors.compile_model(model, work / f"artifact-{fusion}", *description, f"--fusion={fusion}")
        for options in ([], ["--variant", "avx2"], ["--threads", 1, "--chunk", 1], ["--threads", 2, "--chunk", 7]):
            got = tensors.trace(artifact, prompt, work / "got", *options)
            error, name = tensors.compare(got, want, list(want))
            if not error <= ALLOWED:
                failures.append(f"fusion {fusion} {options}: {name} differs from the evaluator by {error:.1e}")
            first = first or got
            for name in got:
                if got[name][1].tobytes() != first[name][1].tobytes():
                    failures.append(f"fusion {fusion} {options}: {name} has other bits")
    print("\n".join(failures) or f"{len(want)} tensors agree")
    return 1 if failures else 0


sys.exit(main())
