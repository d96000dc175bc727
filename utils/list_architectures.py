#!/usr/bin/env python3
"""Prints the page of supported architectures, from models, models/catalogue and the references in test.

    utils/list_architectures.py                       (called by utils/update_reference_docs.sh)
    utils/list_architectures.py --lines [--most N] [NAME...]

With --lines: a table of the lengths of these descriptions (of all without names). `lines` are those that
hold neither blanks nor a comment alone, `all` are all; `with parts` adds the lines of the parts that no
other architecture has; `longest` is the longest line. --most N: exit 1 where `lines` is above N.
"""
import argparse
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODELS = ROOT / "models"


def read(file):
    """JSON with // comments and trailing commas; neither stands in a text of these files' keys."""
    text = file.read_text()
    text = re.sub(r'("(?:\\.|[^"\\])*")|//[^\n]*', lambda m: m[1] or "", text)
    text = re.sub(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])', lambda m: m[1] or "", text)
    return json.loads(text)


def names(value):
    return [value] if isinstance(value, str) else value or []


def code(words):
    return ", ".join(f"`{word}`" for word in words)


def lines(name):
    """(lines with content, all lines, the longest)."""
    text = (MODELS / f"{name}.jsonc").read_text().splitlines()
    held = [line for line in text if line.strip() and not line.strip().startswith("//")]
    return len(held), len(text), max(map(len, text))


class Descriptions:
    def __init__(self):
        self.all = {file.stem: read(file) for file in sorted(MODELS.glob("*.jsonc"))}
        self.matching = {name: d for name, d in self.all.items() if "match" in d}
        self.parts = {name: d for name, d in self.all.items() if "match" not in d}

    def bases(self, name):
        """Everything that it extends, at any distance."""
        found = set()
        for base in names(self.all[name].get("extends")):
            found |= {base} | self.bases(base)
        return found

    def own_parts(self, name):
        """Parts that only it has, and those that extend it."""
        family = {other for other in self.matching if other == name or name in self.bases(other)}
        return [part for part in self.bases(name) & set(self.parts)
                if all(part not in self.bases(other) for other in set(self.matching) - family)]

    def proofs(self):
        """Description -> (references, devices): tiny models with the published code's own numbers."""
        compiled = {name: re.findall(r"%goldens/(\S+) ", (ROOT / "test/Integration" / name).read_text())
                    for name in ("goldens-evaluator.test", "goldens-cpu.test")}
        references = {}
        for file in sorted((ROOT / "test/Inputs/families").glob("*.json")):
            self.note(references, json.loads(file.read_text())["config"], file.stem, {"evaluator", "cpu"})
        for folder in sorted((ROOT / "test/Inputs/goldens").iterdir()):
            devices = {device for device in ("evaluator", "cpu")
                       if folder.name in compiled[f"goldens-{device}.test"]}
            if devices and (folder / "config.json").exists():
                self.note(references, json.loads((folder / "config.json").read_text()), folder.name, devices)
        return references

    def note(self, references, config, case, devices):
        """As matching does: by model_type, and of several by the class."""
        fits = [name for name, d in self.matching.items()
                if config.get("model_type") in names(d["match"].get("model_type"))]
        exact = [name for name in fits if set(names(config.get("architectures"))) &
                 set(names(self.matching[name]["match"].get("architectures")))]
        for name in (exact or fits)[:1]:
            held = references.setdefault(name, ([], set()))
            if case not in held[0]:
                held[0].append(case)
            held[1].update(devices)


def table_of_lines(descriptions, chosen, most):
    rows = []
    for name in chosen or descriptions.matching:
        if name not in descriptions.all:
            sys.exit(f"there is no description '{name}'")
        held, whole, longest = lines(name)
        own = sorted(descriptions.own_parts(name)) if name in descriptions.matching else []
        rows.append((held, whole, held + sum(lines(part)[0] for part in own), longest, name, ", ".join(own)))
    print("lines    all  with parts  longest  description")
    for held, whole, both, longest, name, own in sorted(rows, reverse=True):
        print(f"{held:5} {whole:6} {both:11} {longest:8}  {name}" + (f" (parts of its own: {own})" if own else ""))
    above = [row[4] for row in rows if most and row[0] > most]
    if above:
        sys.exit(f"longer than {most} lines: {', '.join(sorted(above))}")


def page(descriptions):
    matching, parts = descriptions.matching, descriptions.parts
    proofs = descriptions.proofs()
    both = sum("cpu" in devices for _, devices in proofs.values())
    print(f"{len(matching)} descriptions, each a file of `models`. What a description extends, it says only the "
          "differences from; a model_type is what config.json says, a GGUF name what general.architecture does. "
          "`lines` are those of the file without blanks and comments.\n")
    print("Proved: tiny models of the architecture, with what the published code computes of them, are tests of "
          "this repository, for the evaluator and the CPU's kernels where nothing else is said: "
          f"{len(proofs)} with the evaluator, {both} of them on the CPU. — stands where no such model is in the "
          "repository: then keys and tensors of published models are what has been compared.\n")
    print("| description | model_type | GGUF | what it is | extends | lines | proved by |\n|---|---|---|---|---|---|---|")
    for name, d in matching.items():
        gguf = (d.get("gguf") or {}).get("arch")
        cases, devices = proofs.get(name, ([], set()))
        proof = code(cases) + ("" if devices == {"evaluator", "cpu"} else f" ({', '.join(sorted(devices))})")
        print(f"| `{name}` | {code(names(d['match'].get('model_type')))} | {code(names(gguf))} | {d['about']} | "
              f"{code(names(d.get('extends')))} | {lines(name)[0]} | {proof if cases else '—'} |")
    print("\nParts that match nothing by themselves:\n\n| part | what it is | extended by | lines |\n|---|---|---|---|")
    for name, d in parts.items():
        about = d.get("about") or first_sentence(MODELS / f"{name}.jsonc")
        users = [other for other, o in descriptions.all.items() if name in names(o.get("extends"))]
        print(f"| `{name}` | {about} | {code(users)} | {lines(name)[0]} |")
    print("\n## Catalogue\n\nModels that `llmc inspect`, `llmc diff` and `llmc-opt --weights=none` know by name:\n")
    print("| what | names |\n|---|---|")
    for file in sorted((MODELS / "catalogue").glob("*.jsonc")):
        entry = read(file)
        print(f"| {entry['about']} | {code(sorted(entry['models']))} |")


def first_sentence(file):
    """Of the comment at the top."""
    comment = []
    for line in file.read_text().splitlines():
        if not line.startswith("//"):
            break
        comment.append(line[2:].strip())
    return re.split(r"[.:;](?: |$)", " ".join(comment))[0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lines", action="store_true")
    parser.add_argument("--most", type=int)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    descriptions = Descriptions()
    if arguments.lines:
        table_of_lines(descriptions, arguments.names, arguments.most)
    else:
        page(descriptions)


main()
