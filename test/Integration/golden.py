"""Runs a golden model and compares every tensor that its golden.safetensors holds.

usage: golden.py FOLDER --device evaluator|cpu --work DIR [--config FILE] [--set KEY=JSON]...
                 [--compile-option OPTION]...

Exit 1 and one line with the worst tensor when an error is larger than the bound or a greedy
token differs.
"""
import argparse
import json
import shutil
import sys
from pathlib import Path

import tensors

INNER_BLOCKS = ("attn.", "mlp.")  # not observed by the descriptions


def model_folder(arguments):
    """The golden folder, or a copy with another config."""
    if not arguments.config and not arguments.set:
        return arguments.folder
    model = arguments.work / "model"
    model.mkdir()
    config = json.loads((arguments.folder / (arguments.config or "config.json")).read_text())
    for change in arguments.set:
        key, _, value = change.partition("=")
        if key not in config:
            sys.exit(f"{key} is no key of the config")
        config[key] = json.loads(value)
    (model / "config.json").write_text(json.dumps(config))
    shutil.copy(arguments.folder / "model.safetensors", model)
    return model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", choices=tensors.BOUNDS, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--config")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--compile-option", action="append", default=[])
    arguments = parser.parse_args()
    shutil.rmtree(arguments.work, ignore_errors=True)
    arguments.work.mkdir(parents=True)

    golden = tensors.read(arguments.folder / "golden.safetensors")
    subject = model_folder(arguments)
    prompt = tensors.write_prompt(arguments.work / "prompt", golden["input_ids"][1])
    if arguments.device == "cpu":
        subject = tensors.compile_model(subject, arguments.work / "artifact",
                                        *arguments.compile_option)
    got = tensors.trace(subject, prompt, arguments.work / "trace", "--device", arguments.device,
                        "--greedy", len(golden["greedy"][1]))
    names = [name for name in golden
             if name not in ("input_ids", "greedy") and not name.startswith(INNER_BLOCKS)]
    error, worst = tensors.compare(got, golden, names)
    allowed = tensors.allowed_error(arguments.folder, arguments.device)
    same = "greedy" in got and got["greedy"][1] == golden["greedy"][1]
    print(f"{arguments.folder.name} {arguments.device}: {len(names)} tensors, worst row "
          f"{error:.1e} at {worst}, {allowed:.1e} allowed, greedy tokens "
          f"{'equal' if same else 'differ'}")
    return 0 if error <= allowed and same else 1


sys.exit(main())
