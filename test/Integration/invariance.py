"""The logits of a prompt have the same bits however the steps are cut, shared and watched.

usage: invariance.py FOLDER|CASE --work DIR [--compile-option OPTION]...

FOLDER holds a model and golden.safetensors, CASE is one of test/Inputs/families.
"""
import argparse
import shutil
import sys
from pathlib import Path

import families
import tensors

LOGITS = ["--only", "logits"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--compile-option", action="append", default=[])
    arguments = parser.parse_args()
    work = arguments.work
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)

    model = arguments.folder
    if model.is_dir():
        ids = list(tensors.read(model / "golden.safetensors")["input_ids"][1])
    else:
        model = work / "model"
        ids = families.write(arguments.folder.name, model)["prompt"]
    artifact = tensors.compile_model(model, work / "artifact",
                                     *arguments.compile_option)
    prompt = tensors.write_prompt(work / "prompt", ids)
    other = tensors.write_prompt(work / "other", ids[::-1][: len(ids) // 2 + 1])
    ways = {
        "traced": ["--threads", 1],
        "chunks of 1": [*LOGITS, "--threads", 1, "--chunk", 1],
        "chunks of 7": [*LOGITS, "--threads", 1, "--chunk", 7],
        "two threads": [*LOGITS, "--threads", 2],
        "in company": [*LOGITS, "--threads", 1, "--with", other],
        "all at once": ["--threads", 2, "--chunk", 5, "--with", other],
    }
    # The decoded steps too: one row each, alone or beside the other request's.
    greedy = ["--greedy", 6]
    plain = tensors.trace(artifact, prompt, work / "plain", *LOGITS, "--threads", 1, *greedy)
    if len(plain["logits"][1]) != len(ids) * plain["logits"][0][-1]:
        sys.exit("the trace lacks logits of the prompt")
    different = []
    for way, options in ways.items():
        got = tensors.trace(artifact, prompt, work / "way", *options, *greedy)
        for name in ("logits", "greedy", "greedy_logits"):
            if got[name][1].tobytes() != plain[name][1].tobytes():
                error = tensors.worst_row(got[name], plain[name])
                different.append(f"{way}: {name} differs, worst row {error:.1e}")
    print("\n".join(different) or f"{arguments.folder.name}: {len(ways)} ways, the same bits")
    return 1 if different else 0


sys.exit(main())
