"""State of layers with a window goes round in rings of blocks: less memory, as planned, and the same bits.

usage: windows.py FOLDER --work DIR
"""
import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "Integration"))
import tensors

CONTEXT, PROMPT, MORE = 256, 150, 40
# Steps of few tokens, so that a ring is much less than a context; steps of many, so that it is not.
SHORT, LONG = ["--max-tokens=4", "--max-outputs=4"], ["--max-tokens=256", "--max-outputs=256"]


def call(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr}")
    return done.stdout


def answers(artifact, work, prompts, *flags):
    """Tokens and scores of prompts that share steps."""
    lines = [json.dumps({"prompt": ids, "max_tokens": MORE, "logprobs": 2}) for ids in prompts]
    (work / "requests").write_text("\n".join(lines) + "\n")
    results = map(json.loads, call("llmc", "run", artifact, "--jsonl", work / "requests",
                                   *flags).splitlines())
    return [(r["tokens"], r["logprobs"]) for r in sorted(results, key=lambda r: r["line"])]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    arguments = parser.parse_args()
    work, folder = arguments.work, arguments.folder
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    config = json.loads((folder / "config.json").read_text())
    vocabulary = config.get("text_config", config)["vocab_size"]
    prompts = [[(7 * i * i + 3 * i + seed) % (vocabulary - 8) + 4 for i in range(count)]
               for seed, count in enumerate((PROMPT, 70, 3, 101))]
    context = [f"--max-context={CONTEXT}", "--max-sequences=4"]
    ring = tensors.compile_model(folder, work / "ring", *SHORT, *context)
    whole = tensors.compile_model(folder, work / "whole", *LONG, *context)

    limits, states = [], []
    for artifact in (ring, whole):
        manifest = json.loads((artifact / "manifest.json").read_text())
        limits.append(manifest["limits"])
        states.append(manifest["states"])
        if json.loads(call("llmc", "inspect", artifact, "--json"))["limits"] != limits[-1]:
            sys.exit(f"llmc inspect has other limits than {limits[-1]}")
    if "ring_blocks" in limits[1] or any("window" in state for state in states[1]):
        sys.exit(f"rings of more than a context: {limits[1]}, {states[1]}")
    bounded = [state for state in states[0] if "window" in state]
    most = max(state["window"] for state in bounded)
    block = limits[0]["block_tokens"]
    if limits[0]["ring_blocks"] != -(-(most + 4 - 2) // block) + 1:
        sys.exit(f"a window of {most}: {limits[0]}")

    # One sequence far behind its window, all that is observed.
    prompt = tensors.write_prompt(work / "prompt", prompts[0])
    want = tensors.trace(whole, prompt, work / "want", "--greedy", MORE)
    for chunk in (4, 3, 1):
        got = tensors.trace(ring, prompt, work / "got", "--greedy", MORE, "--chunk", chunk)
        for name in want:
            if name not in got or got[name][1].tobytes() != want[name][1].tobytes():
                sys.exit(f"{name} differs with pieces of {chunk}")
    # Several in one step.
    if answers(ring, work, prompts) != answers(whole, work, prompts):
        sys.exit("answers differ")

    # What it takes.
    run = json.loads(call("llmc", "bench", ring, "--prompt-tokens", CONTEXT - MORE, "--generate-tokens", MORE,
                          "--repetitions", 1, "--threads", 2, "--json"))
    plan = json.loads(call("llmc", "plan", folder, *SHORT, f"--context={CONTEXT}", "--max-sequences=4",
                           "--threads=2", "--json"))
    state = next(a["allocated"] for a in run["memory"]["arenas"] if a["kind"] == "state")
    planned = sum(i["bytes"] for i in plan["devices"][0]["items"] if i["arena"] == "state")
    blocks = {True: limits[0]["ring_blocks"], False: CONTEXT // block}
    stated = sum(s["bytes_per_block"] * sum(end - begin for begin, end in s["layers"])
                 * blocks["window" in s] for s in states[0])
    if not state == planned == stated:
        sys.exit(f"state: allocated {state}, planned {planned}, by hand {stated}")
    if plan["allocated"] is not None and plan["allocated"] != run["memory"]["allocated"]:
        sys.exit(f"allocated {run['memory']['allocated']}, planned {plan['allocated']}")
    print(f"window {most}: {state} bytes of state, the same bits")


main()
