"""Runs the artifact of a published model and compares with published answers.

usage: real_model.py FOLDER ANSWERS    FOLDER/artifact is the artifact, FOLDER/inspect.json
the report; ANSWERS holds prompts with their ids and greedy tokens, each up to where the
first and the second choice come close.
"""

import json
import subprocess
import sys
from pathlib import Path


def answer(artifact, prompt, count, *options):
    file = artifact.parent / "prompt.txt"
    file.write_text(prompt)
    command = ["llmc", "run", artifact, "--prompt-file", file, "--raw", "--ignore-eos", "--json",
               "--temperature", "0", "--max-tokens", str(count), *options]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    folder = Path(sys.argv[1])
    expected = json.loads(Path(sys.argv[2]).read_text())
    artifact = folder / "artifact"
    report = json.loads((folder / "inspect.json").read_text())
    assert report["verdict"] == "ready", report["reasons"]
    assert report["parameters"]["total"] == expected["parameters"], report["parameters"]
    for prompt in expected["prompts"]:
        text, ids, greedy = prompt["text"], prompt["ids"], prompt["greedy"]
        for options in ([], ["--threads", "1", "--variant", "avx2"]):
            got = answer(artifact, text, len(greedy), *options)
            assert got["prompt_tokens"] == ids, f"{text!r}: ids {got['prompt_tokens']}"
            assert got["tokens"] == greedy, f"{text!r} {options}: {got['tokens']}"
        memory = got["memory"]
        assert memory["planned"] == memory["allocated"] > 0, memory
    print("answers as published")


main()
