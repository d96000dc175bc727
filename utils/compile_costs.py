#!/usr/bin/env python3
"""What compiling and inspecting models without weights costs in time and memory.

    utils/compile_costs.py --bin build/release/bin MODEL... [--only TEXT]... [--largest N]

MODEL is a model as `llmc inspect` takes it, or a folder with a folder for each of many. Each is
inspected (below 1 s and 300 MiB) and, where that says that it runs, compiled for the CPU with
--weights=none (below 60 s and 2 GB), each in a process of its own; CPU time is compared, since
a busy machine changes the other. Exit code 1 when a model is over.
"""
import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

LIMITS = {"inspect": (1.0, 300), "compile": (60.0, 2000)}  # seconds, MiB


def measured(command, output):
    """Exit code, CPU seconds and peak MiB of one process."""
    with open(output, "wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE)
        errors = process.stderr.read().decode(errors="replace")
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, errors


def models_in(given):
    configs = sorted(Path(given).glob("*/config.json"))
    return [str(config) for config in configs] or [given]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--only", action="append", default=[], help="part of a folder's name")
    parser.add_argument("--largest", type=int, help="only so many models of most parameters")
    arguments = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as scratch:
        text = Path(scratch) / "out.txt"
        rows, over = [], False
        for model in (each for given in arguments.models for each in models_in(given)):
            name = Path(model).parent.name if model.endswith("/config.json") else model
            if arguments.only and not any(part in name for part in arguments.only):
                continue
            code, seconds, mib, errors = measured(
                [arguments.bin / "llmc", "inspect", model, "--json"], text)
            report = json.loads(text.read_text()) if text.stat().st_size else {}
            if not report:
                sys.exit(f"{model}: exit {code}: {errors.strip()}")
            rows.append((report["parameters"]["total"], name, model, report["verdict"], seconds, mib))
        rows.sort(key=lambda row: (-row[0], row[1]))
        for total, name, model, verdict, seconds, mib in rows[: arguments.largest]:
            line = f"{name:52} {total / 1e9:8.1f} G  {verdict:8} inspect {seconds:5.2f} s {mib:5.0f} MiB"
            bad = seconds > LIMITS["inspect"][0] or mib > LIMITS["inspect"][1]
            if verdict in ("ready", "composable"):
                code, seconds, mib, errors = measured(
                    [arguments.bin / "llmc-opt", model, "--target=cpu", "--weights=none",
                     "-o", str(Path(scratch) / "artifact")], text)
                line += f"  compile {seconds:6.2f} s {mib:5.0f} MiB"
                if code:
                    line += f"  exit {code}: {errors.strip()[:120]}"
                bad |= code != 0 or seconds > LIMITS["compile"][0] or mib > LIMITS["compile"][1]
            print(line + ("  OVER" if bad else ""), flush=True)
            over |= bad
    sys.exit(over)


main()
