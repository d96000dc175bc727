"""Replaces a committed corpus by the inputs that reach most: choose.py CONTROL TO

CONTROL is the control file of a libFuzzer merge (-set_cover_merge=1, so that each input is
listed with all its features, not only with those that no earlier one has). Inputs are taken
by the features they add for each byte, until the corpus holds MOST_BYTES; an input that
adds less than a thousandth of all features is left to the fuzzers to find again.
"""
import hashlib
import heapq
import shutil
import sys
from pathlib import Path

MOST_BYTES = 110_000
# What a file costs beside its bytes: a name in the tree, one more execution at the start.
FILE_COST = 64


def read_control(path):
    """The files of a merge in order, each with the set of its features."""
    lines = path.read_text(errors="surrogateescape").split("\n")
    count = int(lines[0])
    files = [Path(line) for line in lines[2 : 2 + count]]
    features = [set() for _ in files]
    for line in lines[2 + count :]:
        kind, _, rest = line.partition(" ")
        if kind == "FT":
            index, *numbers = map(int, rest.split())
            features[index].update(numbers)
    return list(zip(files, features))


def choose(inputs, least_gain):
    """The chosen paths. The gain of an input only falls while others are taken, so an input
    whose gain was counted again and still leads is the best one."""
    covered, total, chosen = set(), 0, []

    def rank(path, features):
        return -len(features - covered) / (path.stat().st_size + FILE_COST)

    queue = [(rank(path, features), i) for i, (path, features) in enumerate(inputs)]
    heapq.heapify(queue)
    while queue:
        _, i = heapq.heappop(queue)
        path, features = inputs[i]
        gain = len(features - covered)
        if gain < least_gain or total + path.stat().st_size > MOST_BYTES:
            continue
        now = rank(path, features)
        if queue and now > queue[0][0]:
            heapq.heappush(queue, (now, i))
            continue
        covered |= features
        total += path.stat().st_size
        chosen.append(path)
    return chosen, covered


def main():
    control, target = map(Path, sys.argv[1:])
    inputs = read_control(control)
    everything = set().union(*(features for _, features in inputs))
    chosen, covered = choose(inputs, max(1, len(everything) // 1000))
    contents = [path.read_bytes() for path in chosen]
    shutil.rmtree(target)
    target.mkdir()
    for content in contents:
        (target / hashlib.sha1(content).hexdigest()[:16]).write_bytes(content)
    print(f"{len(covered)} of {len(everything)} features")


main()
