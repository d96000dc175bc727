#!/usr/bin/env python3
"""A twin of every known architecture: does it compile, and does the CPU agree with the evaluator?

    utils/check_twins.py --bin BIN [--all] [--jobs N] [--models FOLDER]... [--only PATTERN]... [--results FILE] [MODEL...]

Without MODEL: one for each model_type that the sources show; with --all, of every model. Sources are the catalogue
(models/catalogue), the references of test/Inputs, and the folders with a config.json below --models, which are
with --all those of models and goldens in ../shared where that is there. Models whose twins are the same share
one comparison. Prints a table and what it amounts to. Exit 1 where a twin is not made, does not compile, or a row of
its trace differs by more than --most; where it does, but moving every weight of the twin by half a rounding changes the
evaluator's rows by more than a quarter of the difference (and by at most 1e-3), the difference is that of the
arithmetic and counts as agreement. Models without a description, or which theirs refuses, have no twin and are counted apart.

With --results, what is done is kept in that file, one JSON object a line, and a second run goes on where the first
one was stopped, as long as the programs and descriptions are the same.
"""
import argparse
import fnmatch
import hashlib
import json
import math
import random
import re
import struct
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
sys.path.insert(0, str(ROOT / "utils"))
import traces  # noqa: E402

# Within the smallest vocabulary of a reference.
PROMPT = [3, 17, 5, 12, 9, 9, 0, 28, 14, 1, 21, 4, 7, 22, 2, 11, 2, 16, 19, 7, 8, 27, 25, 6]


# What a model without a twin is, and what the message on it says.
APART = {"unknown": "no description matches", "refused": "is not supported by description"}


class Failure(Exception):
    """A step that failed, as text."""


def call(step, *command, seconds=300):
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise Failure(f"{step}: stopped after {seconds} s") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise Failure(f"{step}, exit {done.returncode}: {lines[0][:200] if lines else 'no message'}")
    return done.stdout


def worst_row(got, want):
    """The largest relative L2 error of a row, one for each token, and its tensor; infinite where shapes or tokens differ."""
    worst, where = 0.0, ""
    for name, (shape, values) in want.items():
        if name not in got or len(got[name][1]) != len(values):
            return math.inf, name
        if name == "greedy":
            if list(values) != list(got[name][1]):
                return math.inf, "greedy"
            continue
        rows = shape[0] if len(shape) > 1 else 1
        width = len(values) // rows
        for row in range(rows):
            a, b = (v[row * width:(row + 1) * width] for v in (got[name][1], values))
            size = math.sqrt(sum(x * x for x in b)) or 1.0
            error = math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b))) / size
            if not error <= worst:
                worst, where = error if error == error else math.inf, name
    return worst, where


def moved(weights):
    """Every weight by half a rounding of f32, up or down."""
    draw = random.Random(0)
    return {name: (shape, values if isinstance(values[0], int) else [x * (1 + draw.choice((-1, 1)) * 2.0 ** -24) for x in values])
            for name, (shape, values) in weights.items()}


def write_weights(path, weights):
    header, body = {}, bytearray()
    for name, (shape, values) in weights.items():
        code, dtype = ("q", "I64") if isinstance(values[0], int) else ("f", "F32")
        begin = len(body)
        body += struct.pack(f"<{len(values)}{code}", *values)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, len(body)]}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def compared(tools, twin, folder, most):
    """{"error", "tensor"} of the CPU against the evaluator; "noise" of the evaluator where the error is above `most`."""
    ids = folder / "ids.safetensors"
    traces.write_ids(ids, PROMPT)
    options = ["--inputs", ids, "--greedy", "4", "-o"]
    call("evaluator", tools / "llmc", "trace", twin, "--device", "evaluator", *options, folder / "evaluator.safetensors")
    call("llmc-opt", tools / "llmc-opt", twin, "--target=cpu", "-o", folder / "artifact")
    call("cpu", tools / "llmc", "trace", folder / "artifact", *options, folder / "cpu.safetensors")
    want = traces.read(folder / "evaluator.safetensors")
    flat = [name for name, (_, values) in want.items() if len(set(values[:64])) < 2 and name != "greedy"]
    if flat:
        raise Failure(f"{flat[0]} is constant")
    error, tensor = worst_row(traces.read(folder / "cpu.safetensors"), want)
    if not math.isfinite(error):
        raise Failure(f"differs without bound at {tensor}")
    if error <= most:
        return {"error": error, "tensor": tensor}
    write_weights(twin / "model.safetensors", moved(traces.read(twin / "model.safetensors")))
    call("evaluator", tools / "llmc", "trace", twin, "--device", "evaluator", *options, folder / "moved.safetensors")
    noise, _ = worst_row(traces.read(folder / "moved.safetensors"), want)
    return {"error": error, "tensor": tensor, "noise": min(noise, sys.float_info.max)}


class Checker:
    """Makes twins and compares them, equal ones once."""

    def __init__(self, tools, most):
        self.tools, self.most, self.lock, self.done = tools, most, threading.Lock(), {}

    def check(self, label, model):
        """One line of results: what the twin is, and what `compared` says, or `failure`, `unknown` or `refused`."""
        result = {"model": label}
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            if isinstance(model, dict):
                (folder / "model").mkdir()
                (folder / "model" / "config.json").write_text(json.dumps(model))
                model = folder / "model"
            try:
                twin = json.loads(call("twin", self.tools / "llmc", "twin", model, "-o", folder / "twin", "--json"))
            except Failure as failure:
                kind = next((kind for kind, text in APART.items() if text in str(failure)), "failure")
                return {**result, kind: str(failure)}
            result |= {"description": twin["description"], "layers": [twin["layers"][end] for end in ("from", "to")],
                       "parameters": twin["parameters"]["to"], "seconds": round(time.monotonic() - start, 2)}
            said = (folder / "twin" / "config.json").read_bytes()
            mark = hashlib.sha256(said + twin["description"].encode()).hexdigest()
            with self.lock:
                known, mine = self.done.get(mark), Future()
                self.done.setdefault(mark, (label, mine))
            if known:
                other, outcome = known
                return {**result, "same": other, **outcome.result()}
            try:
                outcome = compared(self.tools, folder / "twin", folder, self.most)
            except Failure as failure:
                outcome = {"failure": str(failure)}
            except BaseException as fault:  # nobody waits for ever
                mine.set_exception(fault)
                raise
            mine.set_result(outcome)
            return result | outcome


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


def sources(folders):
    """(label, what to give to llmc or a config, config)"""
    for name, config in catalogue():
        yield name, name, config
    for folder in folders:
        for file in sorted(folder.glob("*/config.json")):
            yield f"{folder.name}/{file.parent.name}", str(file.parent), json.loads(file.read_text())
    for file in sorted((ROOT / "test" / "Inputs" / "families").glob("*.json")):
        config = json.loads(file.read_text())["config"]
        yield f"families/{file.stem}", config, config


def chosen(args):
    if args.model:
        return [(Path(model).name, model) for model in args.model]
    folders = list(args.models)
    if args.all:
        folders += [place for place in (ROOT / "test" / "Inputs" / "goldens", SHARED / "models", SHARED / "goldens")
                    if place.is_dir()]
    found = {}
    for label, model, config in sources(folders):
        key = label if args.all else json.dumps([config.get("model_type"), config.get("text_config", {}).get("model_type")])
        found.setdefault(key, (label, model))
    return [(label, model) for label, model in found.values()
            if not args.only or any(fnmatch.fnmatch(label.rpartition("/")[2], pattern) for pattern in args.only)]


def identity(tools):
    """Of the programs with their libraries, and of the descriptions."""
    mark = hashlib.sha256()
    files = [tools / "llmc", tools / "llmc-opt", *sorted((tools.parent / "lib").glob("libllmc*.so*")),
             *sorted((ROOT / "models").rglob("*.jsonc"))]
    for file in files:
        mark.update(file.read_bytes())
    return mark.hexdigest()


def earlier(file, mark):
    """{label: result} of a run that was stopped; begins the file where there is none of these programs."""
    if file.exists():
        lines = [json.loads(line) for line in file.read_text().splitlines() if line.endswith("}")]
        if lines and lines[0].get("identity") == mark:
            return {line["model"]: line for line in lines[1:]}
        print(f"{file}: is of other programs or descriptions and is begun anew", file=sys.stderr)
    file.write_text(json.dumps({"identity": mark}) + "\n")
    return {}


def is_good(result, most):
    noise = result.get("noise", 0.0)
    return result.get("error", math.inf) <= max(most, 4 * noise if noise <= 1e-3 else 0)


def outcome_text(result, most):
    for kind in APART:
        if kind in result:
            return f"{kind}: {result[kind].partition(': ')[2][:100]}"
    if "failure" in result:
        return f"WRONG {result['failure']}"
    noise = f", rounded weights {result['noise']:.1e}" if "noise" in result else ""
    same = f", as {result['same']}" if "same" in result else ""
    at = f" at {result['tensor']}" if result["tensor"] else ""
    return f"{'' if is_good(result, most) else 'WRONG '}{result['error']:.1e}{at}{noise}{same}"


def print_row(result, most):
    layers = " -> ".join(map(str, result.get("layers", [])))
    print(f"{result['model'].rpartition('/')[2][:44]:44} {result.get('description', ''):18} {layers:10} "
          f"{result.get('parameters', ''):>9}  {outcome_text(result, most)}", flush=True)


def print_summary(results, most):
    known = [result for result in results if not APART.keys() & result.keys()]
    good = [result for result in known if is_good(result, most)]
    if good:
        within = [result for result in good if "noise" not in result] or good
        worst = max(within, key=lambda result: result["error"])
        slow, large = (max(good, key=lambda result: result[key]) for key in ("seconds", "parameters"))
        print(f"{sum('same' not in result for result in good)} different twins of {len({r['description'] for r in good})} "
              f"descriptions; worst {worst['error']:.1e} ({worst['model']}); largest {large['parameters']} weights "
              f"({large['model']}); longest search {slow['seconds']:.1f} s ({slow['model']})")
    for kind in APART:
        if count := sum(kind in result for result in results):
            print(f"{count} {kind}")
    print(f"{len(good)} of {len(known)} agree")
    return len(good) == len(known)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="*")
    parser.add_argument("--bin", type=Path, required=True, help="folder with llmc and llmc-opt")
    parser.add_argument("--all", action="store_true", help="every model of the sources")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--models", type=Path, action="append", default=[], help="folder of folders with config.json")
    parser.add_argument("--only", action="append", default=[], help="name or pattern of a model")
    parser.add_argument("--most", type=float, default=1e-5, help="relative L2 error of a row")
    parser.add_argument("--results", type=Path, help="file that keeps what is done")
    args = parser.parse_args()
    models = chosen(args)
    before = earlier(args.results, identity(args.bin)) if args.results else {}
    checker = Checker(args.bin, args.most)
    print(f"{'model':44} {'description':18} {'layers':10} {'weights':>9}  CPU against the evaluator")

    def one(source):
        return before.get(source[0]) or checker.check(*source)

    results = []
    with ThreadPoolExecutor(args.jobs) as pool:
        for result in pool.map(one, models):
            results.append(result)
            print_row(result, args.most)
            if args.results and result["model"] not in before:
                with args.results.open("a") as file:
                    file.write(json.dumps(result) + "\n")
    return 0 if print_summary(results, args.most) else 1


if __name__ == "__main__":
    sys.exit(main())
