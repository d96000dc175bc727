"""Puts slices of a sound plan where others live, shortens lives, shrinks arenas and leaves out
writes; plan-verify has to refuse every one.

usage: verify_mutations.py PLAN.mlir

The plan is one program with one arena of activations, as llmc-opt --emit=plan prints it. Which
mutations are faults is decided here, from sizes and lives as they stand in the text.
"""
import re
import subprocess
import sys

SLICE = re.compile(r"plan\.slice @(\S+) in @activations size\((.*?)\) offset (\d+) live <(\d+), (\d+)>")
PASS = "--pass-pipeline=builtin.module(plan.program(plan-verify))"


def value(size, extents):
    total = 0
    for term in size.split(" + "):
        factors = term.split(" * ")
        number = extents[factors[0]] if factors[0] in extents else int(factors[0])
        total += number * (int(factors[1]) if len(factors) > 1 else 1)
    return total


def verify(text):
    done = subprocess.run(["llmc-opt", "-", PASS, "-o", "/dev/null"], input=text,
                          capture_output=True, text=True)
    return done.returncode, done.stderr


def main():
    text = open(sys.argv[1]).read()
    limits = dict(re.findall(r"(\w+) = (\d+)", re.search(r"limits\(<(.*?)>\)", text)[1]))
    extents = {"tokens": int(limits["max_tokens"]), "outputs": int(limits["max_outputs"]),
               "sequences": int(limits["max_sequences"])}
    slices = [(match, value(match[2], extents), int(match[3]), int(match[4]), int(match[5]))
              for match in SLICE.finditer(text)]
    arena = int(re.search(r"plan\.arena @activations .*size\((\d+)\)", text)[1])
    mutations = []

    def change(kind, expected, match, old, new):
        line = match[0]
        assert old in line and line.count(old) == 1, (old, line)
        mutations.append((kind, expected, text[:match.start()] + line.replace(old, new) +
                          text[match.end():]))

    for match, size, offset, first, last in slices:
        for other, size2, offset2, first2, last2 in slices:
            # On the first byte of another that lives at the same time, and on its last line.
            together = other[1] != match[1] and first <= last2 and first2 <= last
            for place in {offset2, offset2 + (size2 - 1) // 64 * 64}:
                if together and place >= 0 and place + size <= arena:
                    change("alias", "which overlap bytes", match, f"offset {offset} ",
                           f"offset {place} ")
        change("beyond the arena", "reaches to byte", match, f"offset {offset} ",
               f"offset {(arena - size) // 64 * 64 + 64} ")
        if last > first:
            change("ends early", "its uses need", match, f"live <{first}, {last}>",
                   f"live <{first}, {last - 1}>")
            change("begins late", "its uses need", match, f"live <{first}, {last}>",
                   f"live <{first + 1}, {last}>")
    tested = {}
    # As many of a kind as take a second or two.
    for kind in {kind for kind, _, _ in mutations}:
        cases = [case for case in mutations if case[0] == kind]
        step = max(1, len(cases) // 12)
        for _, expected, mutated in cases[::step]:
            code, errors = verify(mutated)
            if code != 1 or expected not in errors:
                sys.exit(f"{kind}: exit {code}, not refused with '{expected}':\n{errors}")
            tested[kind] = tested.get(kind, 0) + 1
    code, errors = verify(text)
    if code:
        sys.exit(f"the plan itself is refused: {errors}")
    print("refused:", ", ".join(f"{count} of {kind}" for kind, count in sorted(tested.items())))


main()
