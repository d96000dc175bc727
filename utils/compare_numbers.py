#!/usr/bin/env python3
"""compare_numbers.py A B TOLERANCE: two outputs that differ in numbers alone.

Text must be equal; numbers may differ by TOLERANCE, relative to the larger of 1 and the
number. Exit 1 and the first difference where they do not agree, or hold no number at all.
"""
import re
import sys

number = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?")


def main():
    first, second, tolerance = sys.argv[1], sys.argv[2], float(sys.argv[3])
    with open(first) as a, open(second) as b:
        left, right = a.read(), b.read()
    if number.sub("#", left) != number.sub("#", right):
        sys.exit(f"{first} and {second} differ in more than numbers")
    pairs = list(zip(number.findall(left), number.findall(right)))
    if not any("." in x or "e" in x for x, _ in pairs):
        sys.exit(f"{first} holds no numbers")
    for i, (x, y) in enumerate(pairs):
        if abs(float(x) - float(y)) > tolerance * max(1.0, abs(float(x))):
            sys.exit(f"number {i} is {x} in {first} and {y} in {second}")


main()
