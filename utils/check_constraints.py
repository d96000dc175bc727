#!/usr/bin/env python3
"""Checks that every labelled constraint of a dialect stands in all four places.

A label is <name>_c<n>: a constraint of one op, type or attribute. It must be on the dialect's page
(docs/Dialects/<D>.md), in the ODS (include/llmc/Dialect/<D>/IR/*.td), at the
check in the verifier (lib/Dialect/<D>/IR/*.cpp; a trait that checks it is named
there) and at a case of an invalid test (test/Dialect/<D>/*-invalid.mlir), by
custom in the name of its function.

usage: check_constraints.py SOURCE_DIR [DIALECT...]
"""
import glob
import os
import re
import sys

LABEL = re.compile(r"(?<![A-Za-z0-9_])([a-z][a-z0-9_]*_c[1-9][0-9]*)(?![0-9])")
# The mnemonic is the first lower-case argument: Op<"linear", …>, Attr<"Rope", "rope">.
MNEMONIC = re.compile(r':\s*\w+<\s*(?:"[A-Z]\w*",\s*)?"([a-z][a-z0-9_.]*)"')


def read(pattern):
    return "".join(open(path, encoding="utf-8").read() for path in sorted(glob.glob(pattern)))


def check(source, dialect):
    """The complaints about one dialect."""
    ods = read(f"{source}/include/llmc/Dialect/{dialect}/IR/*.td")
    places = {
        f"docs/Dialects/{dialect}.md": LABEL.findall(read(f"{source}/docs/Dialects/{dialect}.md")),
        "the ODS": LABEL.findall(ods),
        "the verifier": LABEL.findall(read(f"{source}/lib/Dialect/{dialect}/IR/*.cpp")),
        "an invalid test": LABEL.findall(read(f"{source}/test/Dialect/{dialect}/*-invalid.mlir")),
    }
    ops = {name.replace(".", "_") for name in MNEMONIC.findall(ods)}
    labels = {label for found in places.values() for label in found}
    complaints = []
    for label in sorted(labels):
        op, number = re.fullmatch(r"(.*)_c(\d+)", label).groups()
        if op not in ops:
            complaints.append(f"{dialect}: {label}: the dialect has no {op}")
            continue
        if int(number) > 1 and f"{op}_c{int(number) - 1}" not in labels:
            complaints.append(f"{dialect}: {label}: there is no {op}_c{int(number) - 1} before it")
        complaints += [
            f"{dialect}: {label}: missing in {place}"
            for place, found in places.items()
            if label not in found
        ]
    if not labels:
        complaints.append(f"{dialect}: no labelled constraint found")
    return complaints, len(labels)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    source = sys.argv[1]
    dialects = sys.argv[2:] or sorted(
        os.path.basename(os.path.dirname(path))
        for path in glob.glob(f"{source}/include/llmc/Dialect/*/IR")
    )
    failed = False
    for dialect in dialects:
        complaints, count = check(source, dialect)
        failed |= bool(complaints)
        print("\n".join(complaints) if complaints else f"{dialect}: {count} constraints")
    sys.exit(failed)


if __name__ == "__main__":
    main()
