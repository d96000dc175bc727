"""Would a twin see a wrong body? Breaks each fusion of a program, one at a time, and evaluates it.

    broken_bodies.py FUSED.mlir EXPECTED

EXPECTED is what `llmc-opt --test-evaluate-function` prints of the program. A body is broken where it can be: two
inputs of one type are swapped, a number or a function becomes another one, or an operand is read twice. At least one of
these has to change what is printed, for every fusion; the first that does is printed.
"""

import re
import subprocess
import sys
from pathlib import Path

program, expected = (Path(arg).read_text() for arg in sys.argv[1:])
FUNCTIONS = [(r"\bsilu\b", "relu"), (r"\bgelu_tanh\b", "relu"), (r"\bsigmoid\b", "tanh"), (r"\bsoftmax\b", "sigmoid"),
             (r"(?<=\bby )[-+.\de]+", "7.5"), (r"(?<=\bcap )[-+.\de]+", "0.125"), (r"(?<=\beps )[-+.\de]+", "3.0"),
             (r"(?<=\bscale )[-+.\de]+", "0.03125"),
             (r"(?P<one>%\w+), %\w+(?= : )", r"\g<one>, \g<one>")]


def pairs_of_one_type(text, pattern):
    found = list(re.finditer(pattern, text))
    return [(a, b) for i, a in enumerate(found) for b in found[i + 1:] if a[2] == b[2]]


def swapped(text, first, second):
    return text[:first.start(1)] + second[1] + text[first.end(1):second.start(1)] + first[1] + text[second.end(1):]


def broken(body):
    """Ways to break the text of a body, what was done first."""
    head, rest = body.split("\n", 1)
    for a, b in pairs_of_one_type(head, r"(%\w+): ([^%]+?)(?=, %|\):)"):
        yield f"{a[1]} and {b[1]} swapped", swapped(head, a, b) + "\n" + rest
    for pattern, other in FUNCTIONS:
        for match in re.finditer(pattern, rest):
            as_other = match.expand(other)
            yield f"{match[0]} as {as_other}", head + "\n" + rest[:match.start()] + as_other + rest[match.end():]


def evaluate(text):
    run = subprocess.run(["llmc-opt", "-", "--test-evaluate-function", "-o", "/dev/null"], input=text, check=False,
                         capture_output=True, text=True)
    return run.stdout if run.returncode == 0 else None


if evaluate(program) != expected:
    sys.exit("the program does not print what is expected before anything is broken")
failed = False
fusions = list(re.finditer(r'llm\.fusion "([\w-]+)".*?\{\n(.*?)llm\.yield', program, re.DOTALL))
for fusion in fusions:
    for what, body in broken(fusion[2]):
        result = evaluate(program[:fusion.start(2)] + body + program[fusion.end(2):])
        if result is not None and result != expected:
            print(f"{fusion[1]}: {what}: seen")
            break
    else:
        print(f"{fusion[1]}: nothing that was broken is seen")
        failed = True
sys.exit(failed or not fusions)
