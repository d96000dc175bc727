#!/usr/bin/env python3
"""Compiles models to their plan under several deployments and compares the packing of every
arena of slices with its lower bound, the largest sum of live aligned sizes at one step.

    utils/check_packing.py --bin build/bin [--only NAME] [--json FILE] MODEL...

A MODEL is a folder with config.json, a folder of such folders, a name of the catalogue, or the
folder models/catalogue for all of them. Needs no weights. Exit 1 where
a packing is more than --most percent above its bound and the search did not prove that nothing is
smaller, where planning takes longer than --seconds, or where a deployment cannot be planned
although another one of the same model can. Models that have no plan at all, because a kernel or
a description is missing, are counted and listed with --verbose.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time

DEPLOYMENTS = [
    [],
    ["--max-tokens=1", "--max-outputs=1", "--max-sequences=1"],
    ["--max-tokens=16", "--max-outputs=16", "--max-sequences=16"],
    ["--max-tokens=512", "--max-outputs=1"],
    ["--max-tokens=2048", "--max-outputs=8", "--max-sequences=8"],
    ["--max-tokens=512", "--max-outputs=512", "--max-sequences=64"],
]
PACKING = re.compile(
    r"plan\.arena @(\S+) .*packing <bytes = (\d+), lower_bound = (\d+), optimal = (true|false)>")


def models_in(paths):
    for path in paths:
        if os.path.exists(os.path.join(path, "config.json")) or not os.path.isdir(path):
            yield path
            continue
        for name in sorted(os.listdir(path)):
            if name.endswith(".jsonc"):
                text = open(os.path.join(path, name), encoding="utf-8").read()
                yield from re.findall(r'^    "([^"]+)": \{', text.split('"models": {')[-1], re.M)
            folder = os.path.join(path, name)
            if os.path.exists(os.path.join(folder, "config.json")):
                yield folder


def plan(tool, model, flags):
    begin = time.monotonic()
    run = subprocess.run([tool, model, "--emit=plan", "--weights=none", *flags],
                         capture_output=True, text=True)
    seconds = time.monotonic() - begin
    if run.returncode:
        crashed = run.returncode not in (0, 1)
        error = run.stderr.strip().splitlines()[-1:] or [f"exit code {run.returncode}"]
        return None, error, seconds, crashed
    return [(name, int(size), int(bound), optimal == "true")
            for name, size, bound, optimal in PACKING.findall(run.stdout)], [], seconds, False


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--bin", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--most", type=float, default=2.0)
    parser.add_argument("--seconds", type=float, default=0.0, help="0: any time will do")
    parser.add_argument("--json")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    tool = os.path.join(arguments.bin, "llmc-opt")
    rows, unplanned, problems = [], [], []
    for model in models_in(arguments.models):
        name = os.path.basename(model.rstrip("/"))
        if arguments.only not in name:
            continue
        planned = 0
        for flags in DEPLOYMENTS:
            arenas, error, seconds, crashed = plan(tool, model, flags)
            if arenas is None:
                if planned or crashed:
                    problems.append(f"{name} {' '.join(flags)}: {' '.join(error)}")
                    break
                unplanned.append((name, " ".join(error)))
                break
            planned += 1
            if arguments.seconds and seconds > arguments.seconds:
                problems.append(f"{name} {' '.join(flags)}: took {seconds:.2f} s")
            for arena, size, bound, optimal in arenas:
                over = 100 * (size - bound) / bound if bound else 0.0
                rows.append({"model": name, "deployment": flags, "arena": arena, "bytes": size,
                             "lower_bound": bound, "optimal": optimal, "seconds": seconds})
                if size != bound or arguments.verbose:
                    print(f"{name} {arena} {' '.join(flags) or 'default'}: {size} of {bound}, "
                          f"{over:.2f}% over, {'proved' if optimal else 'not proved'}", flush=True)
                if over > arguments.most and not optimal:
                    problems.append(f"{name} {' '.join(flags)}: @{arena} takes {size} bytes, "
                                    f"{over:.2f}% over the bound {bound}")
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(rows, file, indent=1)
    if not rows and not problems:
        print("nothing was planned")
        return 1
    if arguments.verbose:
        for name, error in unplanned:
            print(f"no plan: {name}: {error}")
    tight = sum(row["bytes"] == row["lower_bound"] for row in rows)
    worst = max((row["bytes"] / row["lower_bound"] for row in rows if row["lower_bound"]), default=1)
    slowest = max(rows, key=lambda row: row["seconds"])
    print(f"{len({row['model'] for row in rows})} models, {len(rows)} packings: {tight} reach the "
          f"bound, the worst is {100 * (worst - 1):.2f}% over; slowest {slowest['seconds']:.2f} s "
          f"({slowest['model']}); {len(unplanned)} models have no plan")
    for problem in problems:
        print("problem:", problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
