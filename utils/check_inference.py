#!/usr/bin/env python3
"""Leave-one-out over the descriptions that ship: each model that one matches is inferred without that description.

usage: check_inference.py --bin BUILD/bin [MODEL...]

A MODEL is a folder with config.json, with or without headers of a checkpoint; without one, those of
../shared/goldens and ../shared/models are taken. The program that the inferred description gives is
compared with that of the hidden one, so no weights are needed:

right     the same operations in the same order, weights, layers and settings
unproved  inferred, said so, and something else, or the same in another order
refused   verdict unknown, with reasons
wrong     a verdict that does not say that it is inferred, a refusal without a reason, or a crash

Exit status: 1 where anything is wrong, else 0.
"""
import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
SHARED = pathlib.Path(__file__).resolve().parents[2] / "shared"


def run(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120)


def report(binaries, model, *options):
    done = run(binaries / "llmc", "inspect", model, *options, "--json")
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"verdict": "crash", "reasons": [], "message": done.stderr.strip()[:160]}


def program(binaries, model, *options):
    """The module with published names for weights, and without the names that descriptions choose."""
    done = run(binaries / "llmc-opt", model, *options, "--target=cpu", "--emit=llm")
    if done.returncode != 0:
        return None
    text = re.sub(r'description = "[^"]*", ', "", done.stdout)
    # As the checkpoint names them, where it does not as published.
    text = re.sub(r'(weight_family @\S+) "[^"]*" from', r"\1", text)
    names = {}
    for role, name in re.findall(r"llm\.weight_family @(\S+) ([^:]*?)(?: layers \[[^]]*\])? :", text):
        names["@" + role] = "@" + name
    for block in re.findall(r"func\.func private (@[\w.]+)\(", text):
        names[block] = f"@block{sum(other.startswith('@block') for other in names.values())}"
    text = re.sub(r"@[\w.]+", lambda found: names.get(found[0], found[0]), text)
    return sorted(line for line in text.splitlines() if "weight_family" in line), \
        [line for line in text.splitlines() if "weight_family" not in line]


def hidden_names(binaries, model, known):
    """The description that matches, by its file's name, and its model_type."""
    names = {pathlib.Path(known["description"]).stem} if known.get("description") else set()
    config = json.loads((model / "config.json").read_text())
    for part in (config, config.get("text_config") or {}):
        if isinstance(part.get("model_type"), str):
            names.add(part["model_type"])
    return [word for name in sorted(names) for word in ("--exclude-description", name)]


def judge(binaries, model):
    known = report(binaries, model)
    if known["verdict"] == "crash":
        sys.exit(f"{model}: llmc inspect printed no report: {known['message']}")
    if known["verdict"] not in ("ready", "composable"):
        return None
    hide = hidden_names(binaries, model, known)
    got = report(binaries, model, *hide)
    if got["verdict"] == "unknown" and got["reasons"]:
        return "refused"
    if got["verdict"] != "inferred":
        return "wrong"
    mine = program(binaries, model)
    if mine is None:
        return None
    return "right" if program(binaries, model, *hide) == mine else "unproved"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    args = parser.parse_args()
    models = args.models or sorted(path.parent for folder in ("goldens", "models")
                                   for path in (SHARED / folder).glob("*/config.json"))
    if not models:
        parser.exit(2, f"no models named and none in {SHARED}\n")
    count = collections.Counter()
    for model in models:
        kind = judge(args.bin, model)
        if kind:
            count[kind] += 1
            print(f"{kind:8} {model.name}", flush=True)
    print(", ".join(f"{count[kind]} {kind}" for kind in ("right", "unproved", "refused", "wrong")))
    sys.exit(1 if count["wrong"] else 0)


if __name__ == "__main__":
    main()
