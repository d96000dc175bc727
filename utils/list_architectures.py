#!/usr/bin/env python3
"""Prints the page of supported architectures, from models/*.jsonc and models/catalogue/*.jsonc.

    utils/list_architectures.py      (called by utils/update_reference_docs.sh)
"""
import json
import re
from pathlib import Path

MODELS = Path(__file__).resolve().parent.parent / "models"


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


descriptions = {file.stem: read(file) for file in sorted(MODELS.glob("*.jsonc"))}
matching = {name: d for name, d in descriptions.items() if "match" in d}
print(f"{len(matching)} descriptions, each a file of `models`. What a description extends, it says only the "
      "differences from; a model_type is what config.json says, a GGUF name what general.architecture does.\n")
print("| description | model_type | GGUF | what it is | extends |\n|---|---|---|---|---|")
for name, d in matching.items():
    gguf = (d.get("gguf") or {}).get("arch")
    print(f"| `{name}` | {code(names(d['match'].get('model_type')))} | {code(names(gguf))} | {d['about']} | "
          f"{code(names(d.get('extends')))} |")
parts = {name: d for name, d in descriptions.items() if "match" not in d}
print("\nParts that match nothing by themselves:\n\n| part | what it is | extends |\n|---|---|---|")
for name, d in parts.items():
    print(f"| `{name}` | {d.get('about', '')} | {code(names(d.get('extends')))} |")
print("\n## Catalogue\n\nModels that `llmc inspect`, `llmc diff` and `llmc-opt --weights=none` know by name:\n")
print("| what | names |\n|---|---|")
for file in sorted((MODELS / "catalogue").glob("*.jsonc")):
    entry = read(file)
    print(f"| {entry['about']} | {code(sorted(entry['models']))} |")
