"""The sizes that a deployment chooses change memory and never a bit of the logits.

usage: deployment.py FOLDER --work DIR
"""
import argparse
import json
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "Integration"))
import tensors

CHOICES = [
    ["--max-tokens=1", "--max-sequences=1"],
    ["--max-tokens=7", "--max-outputs=1"],
    ["--max-tokens=33", "--max-outputs=5", "--max-context=72"],
    ["--max-tokens=600", "--max-outputs=600", "--max-sequences=3"],
]


def activations(artifact):
    manifest = json.loads((artifact / "manifest.json").read_text())
    return next(a["size"]["const"] for a in manifest["arenas"] if a["kind"] == "activations")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    arguments = parser.parse_args()
    work = arguments.work
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    ids = tensors.read(arguments.folder / "golden.safetensors")["input_ids"][1]
    prompt = tensors.write_prompt(work / "prompt", ids)

    def run(name, options):
        artifact = tensors.compile_model(arguments.folder, work / name, *options)
        return activations(artifact), tensors.trace(artifact, prompt, work / "trace",
                                                    "--greedy", 8)

    _, plain = run("plain", [])
    sizes = []
    for i, options in enumerate(CHOICES):
        size, got = run(str(i), options)
        sizes.append(size)
        for name in plain:
            if name not in got or got[name][1].tobytes() != plain[name][1].tobytes():
                sys.exit(f"{' '.join(options)}: {name} differs")
    if sizes != sorted(sizes) or len(set(sizes)) != len(sizes):
        sys.exit(f"activations of {sizes} bytes do not grow with the step")
    print(f"{len(CHOICES)} deployments, the same bits, activations of {sizes} bytes")


main()
