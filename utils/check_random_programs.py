#!/usr/bin/env python3
"""Runs drawn programs of the llm dialect through every phase, checked and executed, over many seeds.

    utils/check_random_programs.py --bin build/dev/bin --seeds 1:200 --jobs 4

Each seed is a whole model (unittests/Pipelines/RandomProgram.cpp). It must be legal, keep its numbers through every
pass, execute to what the evaluator says, and give the same bits with other fusions. Failing seeds are printed with
their program. With --json: {"seeds": N, "failed": [{"seed", "message"}]}.
"""
import argparse, json, os, subprocess, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def run(args, seed):
    ran = subprocess.run([args.bin / "RandomProgramTests", "--gtest_filter=RandomPrograms.KeepTheirNumbers"], capture_output=True, text=True,
                         env=os.environ | {"LLMC_TEST_SEEDS": f"{seed}:1"})
    if ran.returncode == 0:
        return None
    text = ran.stdout[ran.stdout.find("Failure\n") + 8:] or f"exit {ran.returncode}: {ran.stderr}"
    return {"seed": seed, "message": text.split("[  FAILED  ]")[0].strip()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, required=True, help="folder with RandomProgramTests")
    parser.add_argument("--seeds", default="1:40", help="first:count")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    first, _, count = args.seeds.partition(":")
    if not first.isdigit() or not count.isdigit():
        parser.error(f"--seeds={args.seeds} is not first:count")
    with ThreadPoolExecutor(args.jobs) as pool:
        failed = [row for row in pool.map(lambda seed: run(args, seed), range(int(first), int(first) + int(count))) if row]
    if args.json:
        print(json.dumps({"seeds": int(count), "failed": failed}, indent=1))
    else:
        for row in failed:
            print(f"seed {row['seed']}: {row['message']}\n")
        print(f"{int(count) - len(failed)} of {count} seeds keep their numbers")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
