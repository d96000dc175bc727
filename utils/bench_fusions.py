#!/usr/bin/env python3
"""Fusions against their unfused bodies, as a table.

    utils/bench_fusions.py --bin BIN [--threads N] [--seconds S] [--only REGEX] [--least R] [--json] [FILE.mlir...]

Runs BIN/FusionBench, which compiles each file of bench/fusions (or FILE) fused and inlined and runs both by turns
in one process. Microseconds are of one body, the lower quartile of the turns; the ratio is unfused to fused. The mean of
a file is the geometric mean over its steps, that of a family (row, linear, attention, routing) that of its files. With
--least, exit 1 where the mean of a family is smaller. --json: one object, {threads, rows: [{family, pattern, case,
tokens, past, sequences, fused_us, unfused_us, ratio, launches, launches_unfused}], means: {case: ratio}, families:
{family: ratio}}.
"""
import argparse
import json
import re
import statistics
import subprocess
import sys
from pathlib import Path


def rows_of(report):
    for entry in report["benchmarks"]:
        if entry.get("run_type") == "aggregate":
            continue
        family, pattern, case, step = entry["name"].split("/")[:4]
        step, _, sequences = step.partition("x")
        tokens, _, past = step.partition("+")
        yield {"family": family, "pattern": pattern, "case": case, "tokens": int(tokens), "past": int(past or 0),
               "sequences": int(sequences or 1),
               "fused_us": entry["fused"], "unfused_us": entry["unfused"], "ratio": entry["ratio"],
               "launches": int(entry["launches"]), "launches_unfused": int(entry["launches_unfused"])}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder with FusionBench")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each row")
    parser.add_argument("--only", default=".")
    parser.add_argument("--least", type=float)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("files", nargs="*", metavar="FILE.mlir")
    arguments = parser.parse_args()
    try:
        re.compile(arguments.only)
    except re.error as problem:
        parser.error(f"--only: {problem}")
    command = [str(Path(arguments.bin) / "FusionBench"), "--benchmark_format=json",
               f"--benchmark_min_time={arguments.seconds}", f"--benchmark_filter={arguments.only}", *arguments.files]
    if arguments.threads:
        command.append(f"--threads={arguments.threads}")
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr.strip() or f"FusionBench: exit {done.returncode}")
    rows = list(rows_of(json.loads(done.stdout)))
    ratios, members = {}, {}
    for row in rows:
        ratios.setdefault(row["case"], []).append(row["ratio"])
        members.setdefault(row["family"], set()).add(row["case"])
    means = {case: statistics.geometric_mean(values) for case, values in ratios.items()}
    families = {family: statistics.geometric_mean(means[case] for case in cases) for family, cases in members.items()}
    small = sorted(family for family, mean in families.items() if arguments.least and mean < arguments.least)
    if arguments.json:
        print(json.dumps({"threads": arguments.threads or None, "rows": rows, "means": means, "families": families}, indent=1))
    else:
        print(f"{'pattern':20} {'case':28} {'tokens':>10} {'launches':>9} {'unfused us':>11} {'fused us':>9} {'ratio':>6}")
        for row in rows:
            step = f"{row['tokens']}" + (f"+{row['past']}" if row["past"] else "")
            step += f" of {row['sequences']}" if row["sequences"] > 1 else ""
            print(f"{row['pattern']:20} {row['case']:28} {step:>10} {row['launches_unfused']:>4} -> {row['launches']:<2} "
                  f"{row['unfused_us']:11.2f} {row['fused_us']:9.2f} {row['ratio']:6.2f}")
        for what, values in (("mean", means), ("mean of the family", families)):
            for name, mean in values.items():
                print(f"{what:20} {name:28} {'':>10} {'':>9} {'':>11} {'':>9} {mean:6.2f}")
    if small:
        print(f"below {arguments.least}: {', '.join(small)}", file=sys.stderr)
    return 1 if small else 0


if __name__ == "__main__":
    sys.exit(main())
