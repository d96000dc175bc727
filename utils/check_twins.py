#!/usr/bin/env python3
"""A twin of every known architecture: does it compile, and does the CPU agree with the evaluator?

    utils/check_twins.py --bin BIN [--jobs N] [--models FOLDER]... [--only PATTERN]... [MODEL...]

Without MODEL: one of each description, and of each form of it that the sources show. Sources are the catalogue
(models/catalogue), the published configs of test/Inputs and the folders with a config.json below --models. Prints
a table; exit 1 where a twin is not made, does not compile, or a row of its trace differs by more than --most.
"""
import argparse
import fnmatch
import json
import math
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "utils"))
import traces  # noqa: E402

# Within the smallest vocabulary of a reference.
PROMPT = [3, 17, 5, 12, 9, 9, 0, 28, 14, 1, 21, 4, 7, 22, 2, 11, 2, 16, 19, 7, 8, 27, 25, 6]


def run(*command, seconds=300):
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return 124, "", f"stopped after {seconds} s"
    return done.returncode, done.stdout, done.stderr


def first_line(text):
    lines = text.strip().splitlines()
    return lines[0][:200] if lines else "no message"


def worst_row(got, want):
    """The largest relative L2 error of a row, one for each token; nothing where shapes or numbers do not fit."""
    worst, where = 0.0, ""
    for name, (shape, values) in want.items():
        if name == "greedy":
            if list(values) != list(got[name][1]):
                return math.inf, "greedy tokens"
            continue
        rows = shape[0] if len(shape) > 1 else 1
        width = len(values) // rows
        if name not in got or len(got[name][1]) != len(values):
            return math.inf, name
        for row in range(rows):
            a, b = (v[row * width:(row + 1) * width] for v in (got[name][1], values))
            size = math.sqrt(sum(x * x for x in b)) or 1.0
            error = math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b))) / size
            if not error <= worst:
                worst, where = error if error == error else math.inf, name
    return worst, where


def check(args, model):
    """(description, layers, parameters, outcome, good)"""
    with tempfile.TemporaryDirectory() as tmp:
        tmp = Path(tmp)
        code, out, err = run(args.bin / "llmc", "twin", model, "-o", tmp / "twin", "--json")
        if code:
            return "", "", "", f"twin, exit {code}: {first_line(err)}", False
        twin = json.loads(out)
        facts = (twin["description"], f"{twin['layers']['from']} -> {twin['layers']['to']}",
                 str(twin["parameters"]["to"]))
        traces.write_ids(tmp / "ids.safetensors", PROMPT)
        steps = [
            ("evaluator", [args.bin / "llmc", "trace", tmp / "twin", "--device", "evaluator", "--inputs",
                           tmp / "ids.safetensors", "--greedy", "4", "-o", tmp / "evaluator.safetensors"]),
            ("llmc-opt", [args.bin / "llmc-opt", tmp / "twin", "--target=cpu", "-o", tmp / "artifact"]),
            ("cpu", [args.bin / "llmc", "trace", tmp / "artifact", "--inputs", tmp / "ids.safetensors",
                     "--greedy", "4", "-o", tmp / "cpu.safetensors"])]
        for name, command in steps:
            code, _, err = run(*command)
            if code:
                return *facts, f"{name}, exit {code}: {first_line(err)}", False
        want = traces.read(tmp / "evaluator.safetensors")
        worst, where = worst_row(traces.read(tmp / "cpu.safetensors"), want)
        flat = [name for name, (_, values) in want.items() if len(set(values[:64])) < 2 and name != "greedy"]
        note = f", {flat[0]} is constant" if flat else ""
        return *facts, f"{worst:.1e}{' at ' + where if where else ''}{note}", worst <= args.most and not flat


def catalogue():
    """(name, what of its config says which description it is of)"""
    for file in sorted((ROOT / "models" / "catalogue").glob("*.jsonc")):
        # Comments and trailing commas; neither stands in a text of these files.
        text = re.sub(r'("(?:\\.|[^"\\])*")|//[^\n]*', lambda m: m[1] or "", file.read_text())
        text = re.sub(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])', lambda m: m[1] or "", text)
        whole = json.loads(text)
        configs = {}
        for name, entry in whole["models"].items():
            configs[name] = {**configs.get(entry.get("like"), whole.get("config", {})),
                             **dict(zip(whole.get("columns", []), entry.get("row", []))), **entry.get("config", {})}
            yield name, configs[name]


def sources(args):
    """One for each description, model_type and class."""
    found = {}
    for name, config in catalogue():
        found.setdefault(key_of(config), name)
    for folder in args.models:
        for file in sorted(folder.glob("**/config.json")):
            found.setdefault(key_of(json.loads(file.read_text())), str(file.parent))
    for file in sorted((ROOT / "test" / "Inputs" / "families").glob("*.json")):
        found.setdefault(key_of(json.loads(file.read_text())["config"]), file)
    return found.values()


def key_of(config):
    return json.dumps([config.get("model_type"), config.get("text_config", {}).get("model_type")])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="*")
    parser.add_argument("--bin", type=Path, required=True, help="folder with llmc and llmc-opt")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--models", type=Path, action="append", default=[], help="folder of folders with config.json")
    parser.add_argument("--only", action="append", default=[], help="name or pattern of a model")
    parser.add_argument("--most", type=float, default=1e-5, help="relative L2 error of a row")
    args = parser.parse_args()
    models = args.model or sources(args)
    if args.only:
        models = [m for m in models if any(fnmatch.fnmatch(Path(m).stem, pattern) for pattern in args.only)]
    with tempfile.TemporaryDirectory() as tmp:
        def one(model):
            if isinstance(model, Path):          # a reference holds its config inside
                place = Path(tmp) / model.stem
                place.mkdir()
                (place / "config.json").write_text(json.dumps(json.loads(model.read_text())["config"]))
                return model.name, check(args, place)
            return Path(model).name, check(args, model)

        wrong = count = 0
        print(f"{'model':44} {'description':18} {'layers':10} {'weights':>9}  CPU against the evaluator")
        with ThreadPoolExecutor(args.jobs) as pool:
            for name, (description, layers, parameters, outcome, good) in pool.map(one, models):
                count, wrong = count + 1, wrong + (not good)
                print(f"{name[:44]:44} {description:18} {layers:10} {parameters:>9}  "
                      f"{'' if good else 'WRONG '}{outcome}", flush=True)
    print(f"{count - wrong} of {count} agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
