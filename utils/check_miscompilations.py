#!/usr/bin/env python3
"""Does --check-passes find deliberate miscompilations, and does it name the pass that makes them?

    utils/check_miscompilations.py --bin build/dev/bin
    utils/check_miscompilations.py --bin build/dev/bin --only 'kernel-*' --json

A test build's llmc-opt makes one mistake behind one pass with --test-miscompile=NAME (test/lib/Miscompile). Each is
tried on a golden model in which it changes a number: compiling with --check-passes must fail with exit code 1 and name
the pass. Golden models are those of test/Inputs, and of ../shared where it is there; a mistake whose model is not there
is skipped and counted. With --json: {"miscompilations": [{"name", "pass", "model", "what", "caught", "by", "seconds",
"message"}], "caught": N, "missed": N, "skipped": N}, `by` being numbers, verifier, run or nobody.
"""
import argparse, fnmatch, json, subprocess, sys, time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def find_model(name):
    for folder in (ROOT / "test/Inputs/goldens", ROOT.parent / "shared/goldens"):
        if (folder / name / "config.json").exists():
            return folder / name
    return None


def kind_of(message):
    if "that is refused" in message:
        return "verifier"
    if "cannot be run" in message:
        return "run"
    return "numbers" if " changes what the p" in message else "nobody"


def check(args, case):
    name, guilty, model, what = case
    row = {"name": name, "pass": guilty, "model": model, "what": what, "caught": False, "by": "nobody", "seconds": 0.0, "message": ""}
    folder = find_model(model)
    if not folder:
        return row | {"by": "skipped"}
    began = time.monotonic()
    ran = subprocess.run([args.bin / "llmc-opt", folder, "--target=cpu", "--check-passes", f"--test-miscompile={name}", *args.option],
                         capture_output=True, text=True, timeout=300)
    lines = [line for line in ran.stderr.splitlines() if "error: --check-passes: pass" in line or "test-miscompile" in line]
    message = lines[0] if lines else (ran.stderr.splitlines() or [f"exit {ran.returncode} without a word"])[0]
    caught = ran.returncode == 1 and f"error: --check-passes: pass '{guilty}' " in message
    return row | {"caught": caught, "by": kind_of(message) if caught else "nobody", "seconds": round(time.monotonic() - began, 2), "message": message}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, required=True, help="folder with llmc-opt of a build with tests")
    parser.add_argument("--only", action="append", default=[], help="names or patterns (repeatable)")
    parser.add_argument("--option", action="append", default=[], help="one more option of llmc-opt, such as --option=--fusion=off (repeatable)")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    listed = subprocess.run([args.bin / "llmc-opt", "--target=cpu", "--test-miscompile=list"], capture_output=True, text=True)
    cases = [line.split("\t") for line in listed.stdout.splitlines()]
    if listed.returncode or not cases:
        sys.exit(f"{args.bin}/llmc-opt makes no mistakes; it needs a build with LLMC_ENABLE_TESTS")
    cases = [case for case in cases if not args.only or any(fnmatch.fnmatch(case[0], pattern) for pattern in args.only)]
    if not cases:
        sys.exit(f"no miscompilation is called {' or '.join(args.only)}; see llmc-opt --target=cpu --test-miscompile=list")
    with ThreadPoolExecutor(args.jobs) as pool:
        rows = list(pool.map(lambda case: check(args, case), cases))
    missed = [row for row in rows if not row["caught"] and row["by"] != "skipped"]
    counts = {"caught": sum(row["caught"] for row in rows), "missed": len(missed), "skipped": sum(row["by"] == "skipped" for row in rows)}
    if args.json:
        print(json.dumps({"miscompilations": rows} | counts, indent=1))
    else:
        for row in rows:
            print(f"{row['name']:24} {row['pass']:28} {row['model']:18} {row['by']:9} {row['seconds']:6.2f} s")
            if row in missed:
                print(f"    {row['message']}")
        print(", ".join(f"{count} {what}" for what, count in counts.items()))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
