"""What `llmc plan` says is what `llmc run` allocates, arena by arena.

usage: plan.py MODEL FOLDER
"""
import json
import subprocess
import sys
from pathlib import Path

# Flags of the compiler, tokens of a sequence, sequences, threads.
DEPLOYMENTS = [
    ([], 200, 1, 1),
    (["--max-context=100", "--max-tokens=16", "--max-outputs=2"], 100, 3, 2),
    (["--max-context=77", "--max-tokens=3", "--max-sequences=12"], 33, 12, 3),
    (["--fusion=off", "--generators=generic"], 64, 2, 2),
]


def call(*command):
    done = subprocess.run(["llmc", *map(str, command)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"llmc {' '.join(map(str, command))}: {done.stderr}")
    return done.stdout


def sums(items, arena, size):
    totals = {}
    for item in items:
        totals[item[arena]] = totals.get(item[arena], 0) + item[size]
    return totals


def main():
    model, folder = sys.argv[1], Path(sys.argv[2])
    for number, (flags, context, batch, threads) in enumerate(DEPLOYMENTS):
        artifact = folder / f"artifact{number}"
        call("compile", model, "-o", artifact, *flags)
        prompts = [f"--prompt={text}" for text in ["the", "in", "on"] * batch][:batch]
        run = json.loads(call("run", artifact, "--raw", *prompts, "--max-tokens", 2, "--context",
                              context, "--threads", threads, "--json"))["memory"]
        kept = [flag for flag in flags if flag.split("=")[0] in
                ("--max-tokens", "--max-outputs", "--max-sequences", "--fusion", "--generators")]
        plan = json.loads(call("plan", model, "--context", context, "--batch", batch, "--threads",
                               threads, "--json", *kept))
        planned = sums(plan["devices"][0]["items"], "arena", "bytes")
        allocated = sums(run["arenas"], "kind", "allocated")
        if planned != allocated or plan["allocated"] != run["allocated"]:
            sys.exit(f"deployment {number}: planned {planned}, {plan['allocated']}; "
                     f"allocated {allocated}, {run['allocated']}")
        if {item["basis"] for item in plan["devices"][0]["items"]} != {"plan"}:
            sys.exit(f"deployment {number}: not all is of the plan: {plan['devices']}")
        print(f"equal: {plan['allocated']} bytes for {batch} sequences of {context}")


main()
