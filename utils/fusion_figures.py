#!/usr/bin/env python3
"""What launches, bytes and operations cost on this machine, as figures of a target file (targets/README.md).

    utils/fusion_figures.py --bin BIN [--threads N] [--rounds R]

Runs BIN/FusionBench on bench/figures and prints JSON. The median of the rounds counts; a machine that does something else
gives other numbers. With one thread the processor's time is taken, and a launch needs no meeting of threads.

launch_seconds         eight launches of one short row against one, by the seven that are saved
bytes_per_second       rows of 8 KiB for 512 tokens (4 MiB) that three launches write and the next ones read, against none
operations_per_second  operations on elements in a launch of 24 against one of 8, for 64 rows of 4 KiB
"""
import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

FIGURES = Path(__file__).resolve().parent.parent / "bench" / "figures"
F32 = 4


def microseconds(arguments, name, seconds):
    """Of one body: fused and unfused."""
    done = subprocess.run([str(Path(arguments.bin) / "FusionBench"), f"--threads={arguments.threads}",
                           "--benchmark_format=json", f"--benchmark_min_time={seconds}", str(FIGURES / f"{name}.mlir")],
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr.strip() or f"FusionBench: exit {done.returncode}")
    entry = json.loads(done.stdout)["benchmarks"][0]
    return entry["fused"], entry["unfused"]


def measure(arguments):
    fused, unfused = microseconds(arguments, "launch", 0.005)
    launch = (unfused - fused) * 1e-6 / 7
    fused, unfused = microseconds(arguments, "bytes", 0.1)
    seconds = (unfused - fused) * 1e-6 - 3 * launch
    few, many = (microseconds(arguments, name, 0.05)[0] for name in ("short", "long"))
    return {"launch_seconds": launch, "bytes_per_second": 3 * 2 * 512 * 2048 * F32 / seconds,
            "operations_per_second": 16 * 64 * 1024 / ((many - few) * 1e-6)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder with FusionBench")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    if arguments.threads < 1 or arguments.rounds < 1:
        parser.error("threads and rounds are at least 1")
    rounds = [measure(arguments) for _ in range(arguments.rounds)]
    source = f"utils/fusion_figures.py --threads {arguments.threads}"
    print(json.dumps({"fusion": {name: [float(f"{statistics.median(one[name] for one in rounds):.2g}"), source]
                                 for name in rounds[0]}}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
