"""Runs the SmolLM2 artifact of smollm2.test and compares with published answers.

usage: smollm2.py FOLDER    FOLDER/artifact is the artifact, FOLDER/inspect.json the report
"""

import json
import subprocess
import sys
from pathlib import Path

# text, its ids, greedy tokens: up to where the first and second choice come close.
PROMPTS = [
    (
        "The capital of France is",
        [504, 3575, 282, 4649, 314],
        [7042, 30, 198, 198, 504, 2988, 314, 42, 216, 34, 32, 33, 40, 29, 32, 33, 29, 34, 34, 216,
         33, 34, 42, 33, 34, 42, 37, 35, 30, 2, 198, 1],
    ),
    (
        "Le café où l’élève déjeunait s’appelait « Chez Zoé » ; il était 12 h 45.",
        [7026, 37366, 263, 45586, 303, 417, 2756, 92, 11180, 307, 32564, 16864, 419, 2889, 262,
         417, 1207, 299, 2889, 23708, 4332, 106, 26336, 2756, 17228, 8544, 32648, 216, 19380, 2889,
         216, 33, 34, 294, 216, 36, 37, 30],
        [198, 198, 15319, 304, 4637, 1264, 4049, 2916, 28, 2618, 304, 4637, 1264, 4049, 2916, 28],
    ),
]


def answer(artifact, prompt, count, *options):
    file = artifact.parent / "prompt.txt"
    file.write_text(prompt)
    command = ["llmc", "run", artifact, "--prompt-file", file, "--raw", "--ignore-eos", "--json",
               "--temperature", "0", "--max-tokens", str(count), *options]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    folder = Path(sys.argv[1])
    artifact = folder / "artifact"
    report = json.loads((folder / "inspect.json").read_text())
    assert report["verdict"] == "ready", report["reasons"]
    assert report["parameters"]["total"] == 134515008, report["parameters"]
    for text, ids, greedy in PROMPTS:
        for options in ([], ["--threads", "1", "--variant", "avx2"]):
            got = answer(artifact, text, len(greedy), *options)
            assert got["prompt_tokens"] == ids, f"{text!r}: ids {got['prompt_tokens']}"
            assert got["tokens"] == greedy, f"{text!r} {options}: {got['tokens']}"
        memory = got["memory"]
        assert memory["planned"] == memory["allocated"] > 0, memory
    print("answers as published")


main()
