"""Replaces a committed corpus by the smallest inputs of a merged one: choose.py FROM TO

A merge has put out one input for each feature that no smaller one has. What is
large is left to the fuzzers to find again, so that the corpus stays small.
"""
import hashlib
import shutil
import sys
from pathlib import Path

MOST_BYTES = 110_000
MOST_FILES = 400


def main():
    source, target = map(Path, sys.argv[1:])
    chosen, total = [], 0
    for path in sorted(source.iterdir(), key=lambda p: (p.stat().st_size, p.name)):
        size = path.stat().st_size
        if total + size > MOST_BYTES or len(chosen) == MOST_FILES:
            break
        total += size
        chosen.append(path.read_bytes())
    shutil.rmtree(target)
    target.mkdir()
    for content in chosen:
        (target / hashlib.sha1(content).hexdigest()[:16]).write_bytes(content)


main()
