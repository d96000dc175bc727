"""Does a test see every pattern taken, disabled, refused by each of its predicates, and run against its body?

    fusion_coverage.py TESTS SOURCES

Patterns and predicates are those of `llmc-opt --list-fusions --json`; TESTS is the folder with the fuse*.mlir, SOURCES
that with the Fuse*.cpp, whose `predicate::NAME` the list has to know. Names what is missing, and fails.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

TESTS, SOURCES = map(Path, sys.argv[1:])
# Those that `Fuser` gives for a pattern, whose source does not name them.
OF_FUSER = {"same-block", "convex", "effect-order", "rounding-point", "registers", "scratch", "cost"}

listed = json.loads(subprocess.run(["llmc-opt", "--list-fusions", "--list-predicates", "--json"], check=True,
                                   capture_output=True, text=True).stdout)
patterns = {row["name"]: set(row["predicates"]) for row in listed["fusions"]}
known = {row["name"] for row in listed["predicates"]}
missing = []


def live_lines(text):
    """What a RUN line checks: expected diagnostics, and directives of FileCheck."""
    runs = [line for line in text.splitlines() if "RUN:" in line]
    prefixes = {"CHECK"} if any(re.search(r"FileCheck %s(?!.*--check-prefix)", run) for run in runs) else set()
    for run in runs:
        for names in re.findall(r"--check-prefix(?:es)?=([\w,-]+)", run):
            prefixes.update(names.split(","))
    verified = any("-verify-diagnostics" in run and "--remarks-filter=fusion" in run for run in runs)
    directive = re.compile(rf"// (?:{'|'.join(sorted(prefixes, key=len, reverse=True))})(?:-[A-Z]+)*: ") if prefixes else None
    for line in text.splitlines():
        if "RUN:" in line or "-NOT:" in line:
            continue
        if (verified and "expected-remark" in line) or (directive and directive.search(line)):
            yield line


taken, refused, twins = set(), set(), set()
for file in sorted(TESTS.glob("fuse*.mlir")):
    text = file.read_text()
    executed = "--test-evaluate-function" in text and re.search(r"RUN: diff", text) and "broken_bodies.py" in text
    for line in live_lines(text):
        taken.update(re.findall(r"\[Passed\] ([\w-]+)", line))
        match = re.search(r'\[Missed\] ([\w-]+) \| .*Reason="[^"]+".*predicate=([\w-]+)', line)
        if match:
            refused.add(match.groups())
        if executed:
            twins.update(re.findall(r'llm\.fusion "([\w-]+)"', line))

for name, predicates in patterns.items():
    if not predicates:
        missing.append(f"{name}: the table of patterns lists no predicate")
    if name not in taken:
        missing.append(f"{name}: no test where it is taken")
    if name not in twins:
        missing.append(f"{name}: no executed twin")
    for predicate in ["enabled", *sorted(predicates)]:
        if predicate not in known:
            missing.append(f"{name}: --list-predicates has no '{predicate}'")
        if (name, predicate) not in refused:
            missing.append(f"{name}: no test where it is refused by '{predicate}'")
missing += [f"{name}: a test has it refused by '{predicate}', which the table of patterns does not list"
            for name, predicate in sorted(refused)
            if name in patterns and predicate not in patterns[name] | {"enabled"}]

sources = {}
for file in sorted(SOURCES.glob("Fuse*.cpp")):
    text = file.read_text()
    for name in re.findall(r'Fuser fuser\("([\w-]+)"', text):
        sources[name] = {re.sub(r"[A-Z]", lambda upper: "-" + upper[0].lower(), word)
                         for word in re.findall(r"predicate::(\w+)", text)} - {"enabled"}
        for predicate in sorted(sources[name] - patterns.get(name, set())):
            missing.append(f"{name}: {file.name} refuses by '{predicate}', which the table of patterns does not list")
        indirect = set(OF_FUSER)
        if "refuseSource" in text:
            indirect |= {"producer", "collective"}
        if "refuseFusedReader" in text:
            indirect |= {"other-fusion"}
        # Obstacles of row programs have their names there.
        if "RowObstacle" in text:
            indirect |= {"producer", "kernel", "same-shape"}
        for predicate in sorted(patterns.get(name, set()) - sources[name] - indirect):
            missing.append(f"{name}: the table of patterns lists '{predicate}', which {file.name} never gives")
missing += [f"{name}: no source makes it" for name in patterns if name not in sources]

for line in missing:
    print(line)
pairs = sum(map(len, patterns.values()))
print(f"{len(patterns)} patterns, {pairs} pairs of a pattern and a predicate, {len(missing)} missing")
sys.exit(bool(missing))
