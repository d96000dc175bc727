#!/usr/bin/env python3
"""Shows that the references of published code notice a description that means something else.

    utils/mutate_semantics.py [--bin DIR] [--shared DIR] [--kind PATTERN]... [--case PATTERN]...

Each kind of test/Inputs/mutations.jsonc changes one semantic of a shipped description, such as the pairing
of rotary embeddings or the place of an epsilon. The changed description runs in the evaluator
(`llmc trace --description`) on tiny models whose outputs the published code gave (test/Inputs/goldens,
test/Inputs/families, and the folders of SHARED/goldens), and must miss the bound that the shipped one
keeps. One line a kind with its error on each model, then how many kinds there are and how many were caught.

With --twins it is `llmc twin` that must notice: the changed description is compiled for the CPU with a twin of a model
that the kind names, the first one that it fits, and its trace must miss the bound that the shipped description
keeps against the evaluator. Kinds with "twins": true are for twins alone.

Exit 1 where a changed description passes somewhere, where the shipped one does not, and where a mutation no
longer fits the description that it changes. Standard library only.
"""
import argparse
import copy
import fnmatch
import json
import os
import re
import shutil
import struct
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INPUTS = ROOT / "test" / "Inputs"
sys.path[:0] = [str(ROOT / "test" / "Integration"), str(ROOT / "utils")]
import check_twins  # noqa: E402
import families  # noqa: E402
import tensors  # noqa: E402

INNER_BLOCKS = ("attn.", "mlp.", "ssm.", "moe.")  # not observed by the descriptions
HEADED = ("params", "blocks")  # "window(i)" and "window" name the same thing there
NULLS = ("ledger.require", "defaults")  # where null is a value
ADDED_TO = ("ledger.irrelevant", "ledger.ignored_tensors", "gguf.irrelevant", "gguf.ignored_tensors")


class Unfit(Exception):
    """A mutation that does not fit what it changes, or cannot be run."""


# ---- descriptions

def read_jsonc(path):
    strings = r'"(?:\\.|[^"\\])*"'
    keep = lambda match: match[0] if match[0].startswith('"') else ""
    text = re.sub(strings + r"|//[^\n]*", keep, Path(path).read_text())
    return json.loads(re.sub(strings + r"|,(?=\s*[}\]])", keep, text))


def bare(name):
    return name.split("(")[0]


def member(section, wanted, headed):
    """The key under which `section` holds the name, or None."""
    return next((key for key in section if key == wanted or headed and bare(key) == bare(wanted)), None)


def merge(base, over, path=""):
    """One part of a description over another, as models/README.md says."""
    for key, value in over.items():
        inner = f"{path}.{key}" if path else key
        old = member(base, key, path in HEADED)
        if value is None and path not in NULLS:
            base.pop(old, None)
        elif old is not None and isinstance(value, dict) and isinstance(base[old], dict):
            merge(base[old], value, inner)
        elif old is not None and inner in ADDED_TO:
            base[old] = base[old] + value
        else:
            if old is not None and old != key:
                del base[old]
            base[key] = copy.deepcopy(value)


def effective(models, name):
    """A description with all that it extends, and what it says itself."""
    own = read_jsonc(models / f"{name}.jsonc")
    extends = own.get("extends") or []
    whole = {}
    for base in [extends] if isinstance(extends, str) else extends:
        part, _ = effective(models, base)
        part.pop("match", None)
        merge(whole, part)
    merge(whole, own)
    return whole, own


def replaced(value, old, new, where):
    """`value` with the one place changed that says `old`; null is all of an expression, {old} in `new`."""
    if old is None:
        if isinstance(value, list):
            return [replaced(value[0], None, new, where), *value[1:]]
        return new.replace("{old}", value)
    if isinstance(value, str) and isinstance(old, str):
        if value.count(old) != 1:
            raise Unfit(f"{where} says {value!r}, which has {old!r} {value.count(old)} times instead of once")
        return value.replace(old, new)
    if isinstance(value, list) and isinstance(old, str):
        found = [i for i, item in enumerate(value) if isinstance(item, str) and old in item]
        if len(found) != 1:
            raise Unfit(f"{where} holds {old!r} in {len(found)} places instead of one: {value}")
        (at,) = found
        if isinstance(new, list):  # statements for a statement
            if value[at] != old:
                raise Unfit(f"{where} says {value[at]!r}, not {old!r}")
            return value[:at] + new + value[at + 1:]
        return value[:at] + [replaced(value[at], old, new, where)] + value[at + 1:]
    if value != old:
        raise Unfit(f"{where} is {json.dumps(value)}, not {json.dumps(old)}")
    return new


def edit(whole, over, path, old, new):
    """Changes an entry of the whole description; what differs goes to `over`."""
    names = path.split(".")
    holder, keys = whole, []
    for depth, name in enumerate(names):
        if isinstance(holder, list):
            key = int(name)
        else:
            key = member(holder, name, depth == 1 and names[0] in HEADED)
            if key is None:
                raise Unfit(f"the description has no {path}")
        keys.append(key)
        if depth + 1 < len(names):
            holder = holder[key]
    holder[key] = replaced(holder[key], old, new, path)
    # Objects merge; anything else is replaced as a whole.
    source = whole
    for at, key in enumerate(keys):
        if not isinstance(source[key], dict) or at + 1 == len(keys):
            over[key] = copy.deepcopy(source[key])
            return
        source, over = source[key], over.setdefault(key, {})


def mutated_description(models, name, mutation):
    whole, own = effective(models, name)
    over = {}
    for path, old, new in mutation.get("edits", []):
        edit(whole, over, path, old, new)
    merge_raw(over, mutation.get("add", {}))
    return {"extends": name, "match": own["match"], **over}


def merge_raw(base, over):
    """Like merge, but null stays."""
    for key, value in over.items():
        if isinstance(value, dict) and isinstance(base.get(key), dict):
            merge_raw(base[key], value)
        else:
            base[key] = value


# ---- configs and weights

def config_holder(config, path):
    *outer, last = path.split(".")
    for start in (config, config.get("text_config", {})):
        holder = start
        for name in outer:
            holder = holder.get(name) if isinstance(holder, dict) else None
        if isinstance(holder, dict) and (last in holder or start is not config or "text_config" not in config):
            return holder, last
    raise Unfit(f"the config has no {path}")


def half(x):
    return struct.unpack("<e", struct.pack("<e", x))[0]


def half_frequencies(config):
    """Rotary frequencies rounded to f16, said by factors that divide them."""
    record = config["rope_parameters"]
    if record.get("rope_type") != "default":
        raise Unfit("f16 frequencies are for a config whose rope_type is default")
    width = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    exact = [record["rope_theta"] ** (-2 * j / width) for j in range(width // 2)]
    factors = [x / half(x) for x in exact]
    record.update(rope_type="longrope", short_factor=factors, long_factor=factors, attention_factor=1.0,
                  original_max_position_embeddings=config["max_position_embeddings"], factor=1.0)


RULES = {"half_frequencies": half_frequencies}


def mutated_config(config, mutation):
    config = copy.deepcopy(config)
    for path, old, new in mutation.get("config", []):
        holder, last = config_holder(config, path)
        if holder.get(last) != old:
            raise Unfit(f"{path} of the config is {json.dumps(holder.get(last))}, not {json.dumps(old)}")
        holder[last] = new
    for first, second in mutation.get("swap", []):
        (a, x), (b, y) = config_holder(config, first), config_holder(config, second)
        a[x], b[y] = b[y], a[x]
    if "rule" in mutation:
        RULES[mutation["rule"]](config)
    return config


def reversed_rows(path, pattern):
    """The weights, with the last dimension of some tensors the other way round."""
    weights = tensors.read(path)
    names = [name for name in weights if fnmatch.fnmatchcase(name, pattern)]
    if not names:
        raise Unfit(f"no weight is named {pattern}")
    for name in names:
        shape, numbers = weights[name]
        width = shape[-1]
        for start in range(0, len(numbers), width):
            numbers[start:start + width] = numbers[start:start + width][::-1]
    return weights


def tied_experts(path, named):
    """The weights, every expert having the score of the first."""
    weights = tensors.read(path)
    routers = fnmatch.filter(weights, named["router"])
    if not routers:
        raise Unfit(f"no weight is named {named['router']}")
    for name in routers:
        shape, numbers = weights[name]
        for row in range(1, shape[0]):
            numbers[row * shape[1]:(row + 1) * shape[1]] = numbers[:shape[1]]
    return weights


def turned_experts(weights, named):
    """The weights with the experts numbered from the last to the first."""
    place = re.compile(re.escape(named["experts"]).replace(re.escape("{e}"), r"(\d+)"))
    count = 1 + max((int(match[1]) for name in weights if (match := place.search(name))), default=-1)
    if count < 2:
        raise Unfit(f"no weights of experts are named {named['experts']}")
    renumbered = {}
    for name, weight in weights.items():
        match = place.search(name)
        other = name if not match else f"{name[:match.start(1)]}{count - 1 - int(match[1])}{name[match.end(1):]}"
        renumbered[other] = weight
    return renumbered


# ---- models with references

class Case:
    """A tiny model and what the published code gives for it."""

    def __init__(self, label, folder, prompt, reference, names, allowed, work, greedy=0):
        self.label, self.folder, self.reference, self.names = label, Path(folder), reference, names
        self.allowed, self.greedy = allowed, greedy
        self.prompt = tensors.write_prompt(work / f"{label.replace('/', '-')}.prompt", prompt)
        self.lock, self.state = threading.Lock(), None

    def error(self, model, output, *options):
        """Worst error of a row, and in which tensor; the greedy tokens are asked where nothing else differs."""
        options = ("--device", "evaluator", *options)
        got = tensors.trace(model, self.prompt, output, *options)
        names = [name for name in self.names if not name.startswith("greedy")]
        worst = tensors.compare(got, self.reference, names)
        if worst[0] > self.allowed or not self.greedy:
            return worst
        got = tensors.trace(model, self.prompt, output, "--greedy", self.greedy, *options)
        if got["greedy"][1] != self.reference["greedy"][1]:
            return float("inf"), "greedy"
        return tensors.compare(got, self.reference, self.names)

    def known(self, work):
        """(error with the shipped description, folder of the descriptions, name of the model's)"""
        with self.lock:
            if self.state is None:
                try:
                    said = json.loads(tensors.call("llmc", "inspect", self.folder, "--json"))
                    error, _ = self.error(self.folder, work / f"{self.label.replace('/', '-')}.trace")
                    file = Path(said["description"])
                    self.state = (error, file.parent, file.stem)
                except SystemExit as failure:
                    self.state = (float("inf"), str(failure), None)
            return self.state


class Twin(Case):
    """The twin of a case, and what the evaluator gives for it, in f32 as well."""

    def __init__(self, case, work, ties=None):
        super().__init__(f"twin/{case.label}", work / f"twin-{case.label.replace('/', '-')}{'-tied' if ties else ''}",
                         check_twins.PROMPT, None, [], 2 * tensors.BOUNDS["cpu"], work)  # both sides round
        self.original, self.ties = case, ties

    def error(self, model, output, *options):
        options = (*options, "--max-context", "64")  # within every table of positions, whatever its offset
        artifact = Path(f"{output}-artifact")
        tensors.compile_model(model, artifact, *options)
        try:
            return tensors.compare(tensors.trace(artifact, self.prompt, output), self.reference, self.names)
        finally:
            shutil.rmtree(artifact)

    def known(self, work):
        with self.lock:
            if self.state is None and self.reference is None:
                try:
                    tensors.call("llmc", "twin", self.original.folder, "-o", self.folder)
                    if self.ties:
                        weights = self.folder / "model.safetensors"
                        tensors.write(weights, tied_experts(weights, self.ties))
                    self.reference = tensors.trace(self.folder, self.prompt, self.folder / "reference", "--device", "evaluator")
                    self.names = list(self.reference)
                except SystemExit as failure:
                    self.state = (float("inf"), str(failure), None)
        return super().known(work)


def golden_case(folder, label, work):
    reference = tensors.read(folder / "golden.safetensors")
    names = [n for n in reference if n not in ("input_ids", "greedy") and not n.startswith(INNER_BLOCKS)]
    return Case(label, folder, reference["input_ids"][1], reference, names, tensors.BOUNDS["evaluator"],
                work, len(reference["greedy"][1]))


def family_case(name, label, work):
    case = families.write(name, work / f"family-{name}")
    reference = {"logits": families.logits(case)}
    return Case(label, work / f"family-{name}", case["prompt"], reference, ["logits"],
                families.ALLOWED["evaluator"], work)


class Cases:
    def __init__(self, shared, work):
        self.shared, self.work, self.found, self.twins = shared, work, {}, {}

    def twin(self, case, ties):
        key = (case.label, ties is not None)
        if key not in self.twins:
            self.twins[key] = Twin(case, self.work, ties)
        return self.twins[key]

    def named(self, name):
        """Every model of this name, which may have its folder before it."""
        folder, _, name = name.rpartition("/")
        labels = [f"{folder}/{name}"] if folder else [f"goldens/{name}", f"families/{name}"]
        for label in labels:
            if label not in self.found:
                self.found[label] = self.made(label, name)
        return [self.found[label] for label in labels if self.found[label]]

    def made(self, label, name):
        if label.startswith("families/"):
            file = families.FAMILIES / f"{name}.json"
            return family_case(name, label, self.work) if file.exists() else None
        for folder in (INPUTS / label, self.shared / label):
            if (folder / "golden.safetensors").exists():
                return golden_case(folder, label, self.work)
        return None


# ---- running

def run_one(case, mutation, work, number):
    """{"case", "error", "tensor", "verdict"} of one changed description on one model"""
    result = {"case": case.label, "allowed": case.allowed}
    base, models, name = case.known(work)
    if name is None or base > case.allowed:
        return {**result, "verdict": "broken", "message": models if name is None else f"the shipped description misses by {base:.1e}"}
    folder = work / f"mutation-{number}"
    folder.mkdir()
    try:
        (folder / f"{name}.jsonc").write_text(json.dumps(mutated_description(models, name, mutation), indent=1))
        model = case.folder
        if {"config", "swap", "rule", "reverse", "ties"} & mutation.keys():
            model = folder / "model"
            model.mkdir()
            config = json.loads((case.folder / "config.json").read_text())
            (model / "config.json").write_text(json.dumps(mutated_config(config, mutation)))
            if "reverse" in mutation:
                tensors.write(model / "model.safetensors",
                              reversed_rows(case.folder / "model.safetensors", mutation["reverse"]))
            elif "ties" in mutation:
                weights = tensors.read(case.folder / "model.safetensors")
                tensors.write(model / "model.safetensors", turned_experts(weights, mutation["ties"]))
            else:
                (model / "model.safetensors").symlink_to((case.folder / "model.safetensors").resolve())
        error, tensor = case.error(model, folder / "trace", "--description", folder / f"{name}.jsonc")
    except Unfit as failure:
        return {**result, "verdict": "unfit", "message": str(failure)}
    except SystemExit as failure:  # of llmc
        message = str(failure)
        if mutation.get("refused") and mutation["refused"] in message and ": exit 1: " in message:
            return {**result, "verdict": "refused", "message": message.split(": exit 1: ", 1)[1]}
        return {**result, "verdict": "unfit", "message": message}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if mutation.get("refused"):
        return {**result, "verdict": "unfit", "message": f"is not refused, its error is {error:.1e}"}
    return {**result, "error": error, "tensor": tensor, "verdict": "caught" if error > case.allowed else "SURVIVED"}


def run_twin(cases, candidates, mutation, work, number):
    """The result on the twin of the first case that the mutation fits, or that of the last."""
    result = None
    for at, case in enumerate(candidates):
        result = run_one(cases.twin(case, mutation.get("ties")), mutation, work, f"{number}-{at}")
        if result["verdict"] != "unfit":
            break
    return result


def planned(kinds, cases, arguments):
    """(kind, mutation, models of which each must notice, or of whose twins the first that fits)"""
    for kind in kinds:
        for mutation in kind.get("forms", [kind]):
            found = [case for name in mutation["on"] for case in cases.named(name) if chosen(case.label, arguments.case)]
            for models in [found] if arguments.twins else [[case] for case in found]:
                if models:
                    yield kind, mutation, models


def chosen(name, patterns):
    return not patterns or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def said(result):
    if "error" in result:
        return f"{result['case']} {result['error']:.1e}" + (" SURVIVED" if result["verdict"] == "SURVIVED" else "")
    return f"{result['case']} {result['verdict']}"


def noticed(kind):
    return all(result["verdict"] in ("caught", "refused") for result in kind["results"])


def print_row(kind):
    state = "no model" if not kind["results"] else "caught" if noticed(kind) else "NOT CAUGHT"
    print(f"{state:10} {kind['area']:12} {kind['kind']}: {', '.join(map(said, kind['results']))}", flush=True)
    for result in kind["results"]:
        if result["verdict"] in ("unfit", "broken"):
            print(f"           {result['case']}: {result['message']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, help="folder of llmc (default: from PATH)")
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared", help="folder that holds goldens/")
    parser.add_argument("--mutations", type=Path, default=INPUTS / "mutations.jsonc")
    parser.add_argument("--kind", action="append", default=[], metavar="PATTERN")
    parser.add_argument("--case", action="append", default=[], metavar="PATTERN", help="such as goldens/llama or 'families/*'")
    parser.add_argument("--twins", action="store_true", help="twins compiled for the CPU instead of references")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.bin:
        os.environ["PATH"] = f"{arguments.bin.resolve()}{os.pathsep}{os.environ['PATH']}"
    kinds = [kind for kind in read_jsonc(arguments.mutations)
             if chosen(kind["kind"], arguments.kind) and (arguments.twins or not kind.get("twins"))]
    names = [kind["kind"] for kind in kinds]
    if not kinds or len(set(names)) < len(names):
        parser.exit(2, "no such kind\n" if not kinds else "a kind is there twice\n")

    with tempfile.TemporaryDirectory() as work, ThreadPoolExecutor(arguments.jobs) as pool:
        work = Path(work)
        cases = Cases(arguments.shared, work)
        runs = list(planned(kinds, cases, arguments))

        def one(numbered):
            number, (_, mutation, models) = numbered
            if arguments.twins:
                return run_twin(cases, models, mutation, work, number)
            return run_one(models[0], mutation, work, number)

        results = pool.map(one, enumerate(runs))
        for kind in kinds:
            kind["results"] = [next(results) for owner, _, _ in runs if owner is kind]
            if not arguments.json:
                print_row(kind)

    tried = [kind for kind in kinds if kind["results"]]
    caught = [kind for kind in tried if noticed(kind)]
    if arguments.json:
        rows = [{key: kind[key] for key in ("kind", "area", "what", "results")} for kind in kinds]
        print(json.dumps({"kinds": len(tried), "caught": len(caught), "mutations": rows}, indent=1))
    else:
        print(f"{len(tried)} kinds, {len(caught)} caught; {len(runs)} runs on "
              f"{len({result['case'] for kind in kinds for result in kind['results']})} models")
    return 0 if tried and len(caught) == len(tried) else 1


if __name__ == "__main__":
    sys.exit(main())
