#!/usr/bin/env python3
"""Checks docs/Structures.md: every row is proved by references and tests that exist, or says that it is not computed.

    utils/check_structures.py SOURCE
"""
import re
import sys
from pathlib import Path

root = Path(sys.argv[1])
inputs = root / "test/Inputs"
known = {file.stem for file in (inputs / "families").glob("*.json")} | {folder.name for folder in (inputs / "goldens").iterdir()}
rows = wrong = 0
for number, line in enumerate((root / "docs/Structures.md").read_text().splitlines(), 1):
    cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    if len(cells) != 3 or cells[0].startswith(("**", "---")) or cells[0] == "feature":
        continue
    rows += 1
    here, _, shared = cells[2].partition("shared:")
    problems = [f"'{name}' is no reference" for name in re.findall(r"`([^`]+)`", here) if name not in known]
    problems += [f"{path} does not exist" for path in re.findall(r"(?:test|unittests)/\S+", here) if not (root / path).exists()]
    if not cells[2] and not cells[1].startswith("refused"):
        problems.append(f"nothing proves '{cells[0]}'")
    for problem in problems:
        print(f"docs/Structures.md:{number}: {problem}")
    wrong += len(problems)
print(f"{rows} rows, {wrong} problems")
sys.exit(1 if wrong or not rows else 0)
