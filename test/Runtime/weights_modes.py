"""One answer and three ways to have weights in memory; streamed ones leave it again.

usage: weights_modes.py ARTIFACT CONTEXT
"""
import json
import subprocess
import sys


def run(artifact, context, mode):
    done = subprocess.run(["llmc", "run", artifact, "--raw", "--prompt", "Once upon a time",
                           "--max-tokens", "6", "--ignore-eos", "--context", context, "--threads", "2",
                           "--weights", mode, "--json"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    result = json.loads(done.stdout)
    weights = next(arena["allocated"] for arena in result["memory"]["arenas"]
                   if arena["kind"] == "weights")
    return result["tokens"], result["memory"]["peak_resident"], weights


def main():
    artifact, context = sys.argv[1], sys.argv[2]
    mapped, resident, streamed = (run(artifact, context, mode)
                                  for mode in ("mapped", "resident", "streamed"))
    if not mapped[0] == resident[0] == streamed[0]:
        sys.exit(f"answers differ: {mapped[0]}, {resident[0]}, {streamed[0]}")
    weights = mapped[2]
    if not weights == resident[2] == streamed[2]:
        sys.exit(f"weights are {weights}, {resident[2]} and {streamed[2]} bytes")
    if resident[1] < weights:
        sys.exit(f"{resident[1]} bytes were resident, less than the {weights} of the weights")
    # The largest weight is the table of the vocabulary, a third of all.
    if streamed[1] > mapped[1] - weights / 2:
        sys.exit(f"streamed weights peak at {streamed[1]} bytes, mapped ones at {mapped[1]}, of "
                 f"{weights}")
    print(f"the same {len(mapped[0])} tokens; streamed weights left memory")


main()
