#!/usr/bin/env python3
"""Are simplifications exact? Compiles models without any and with all of them, runs both, and
compares the bits of everything that both show.

    check_simplifications.py --bin build/release/bin [--only PATTERN] [FOLDER...]

A folder holds config.json and safetensors; without one those of ../shared/goldens are taken where
they are. A row a model and way to compile; exit 1 where bits differ. With --fold-scales logits may
differ by 1e-4 of their deviation (docs/Simplification.md).
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import traces

TOKENS = 24
GREEDY = 6


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: exit {done.returncode}: {done.stderr[-800:]}")
    return done.stdout, done.stderr


def trace(args, artifact, inputs, out):
    run(args.bin / "llmc", "trace", artifact, "--inputs", inputs, "-o", out, "--greedy", GREEDY,
        "--chunk", 7)
    return traces.read(out)


def worst(a, b):
    """The largest difference of two logits, of the deviation of the first."""
    values, others = a["logits"][1], b["logits"][1]
    mean = sum(values) / len(values)
    deviation = (sum((v - mean) ** 2 for v in values) / len(values)) ** 0.5
    return max(abs(p - q) for p, q in zip(values, others)) / (deviation or 1.0)


def check(args, folder, names, tmp):
    """(way, what is wrong or '', how many simplifications) for each way to compile."""
    vocabulary = json.loads((folder / "config.json").read_text())
    vocabulary = vocabulary.get("vocab_size") or vocabulary["text_config"]["vocab_size"]
    inputs = tmp / "ids.safetensors"
    traces.write_ids(inputs, [(7 * i * i + 3 * i + 1) % vocabulary for i in range(TOKENS)])
    context = ["--max-context", TOKENS + GREEDY]
    without = [f"--disable-simplification={name}" for name in names]
    shown = {}
    for way, flags in {"without": without, "without, short": without + context}.items():
        run(args.bin / "llmc-opt", folder, "--target=cpu", "-o", tmp / way, *flags)
        shown[way] = trace(args, tmp / way, inputs, tmp / "out.safetensors")
    for way, base, flags in (("all", "without", []), ("logits", "without", ["--observe=logits"]),
                             ("short", "without, short", context),
                             ("scales", "without", ["--fold-scales"])):
        _, text = run(args.bin / "llmc-opt", folder, "--target=cpu", "-o", tmp / way, "--explain", *flags)
        made = len(re.findall(rf"^ *passed +(?:{'|'.join(names)}) ", text, re.M))
        got = trace(args, tmp / way, inputs, tmp / "out.safetensors")
        both = got.keys() & shown[base].keys()
        differ = [name for name in sorted(both, key=traces.order)
                  if repr(got[name]) != repr(shown[base][name])]
        problem = ""
        if "logits" not in both:
            problem = "no logits"
        elif way == "scales":
            distance = worst(shown[base], got)
            problem = f"logits differ by {distance:.1e} deviations" if distance > 1e-4 else ""
        elif differ:
            problem = f"other bits: {', '.join(differ)}"
        yield way, problem, made


def main():
    parser = argparse.ArgumentParser(description="Runs models with and without simplifications.")
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--only", action="append", help="goldens whose name matches (repeatable)")
    parser.add_argument("folders", nargs="*", type=pathlib.Path)
    args = parser.parse_args()
    folders = args.folders
    if not folders:
        goldens = pathlib.Path(__file__).resolve().parents[2] / "shared" / "goldens"
        folders = sorted(path.parent for path in goldens.glob("*/config.json"))
        if not folders:
            sys.exit("no folder given and no ../shared/goldens here")
    if args.only:
        folders = [f for f in folders if any(re.fullmatch(p.replace("*", ".*"), f.name) for p in args.only)]
    listed, _ = run(args.bin / "llmc-opt", "--list-simplifications", "--json")
    names = [row["name"] for row in json.loads(listed)["simplifications"]]
    failed = 0
    for folder in folders:
        with tempfile.TemporaryDirectory() as tmp:
            try:
                for way, problem, made in check(args, folder, names, pathlib.Path(tmp)):
                    failed += bool(problem)
                    print(f"{folder.name:24} {way:8} {made:4} made  {problem or 'same'}", flush=True)
            except RuntimeError as error:
                failed += 1
                print(f"{folder.name:24} {error}", flush=True)
    print(f"{failed} differ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
