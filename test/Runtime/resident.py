"""Peak resident memory of `llmc run` is the plan and a stated base, where the state is filled.

usage: resident.py ARTIFACT CONTEXT THREADS
"""
import json
import subprocess
import sys

# Program, tokenizer, stacks and the answer, as docs/Runtime.md states them for this vocabulary.
BASE = 12 << 20
SENTENCE = "Once upon a time there was a compiler that wanted to be exact. "
TOKENS = 14  # of the sentence


def main():
    artifact, context, threads = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    prompt = SENTENCE * (context // TOKENS - 1)
    done = subprocess.run(["llmc", "run", artifact, "--raw", "--prompt", prompt, "--max-tokens", "4",
                           "--ignore-eos", "--context", str(context), "--threads", threads, "--json"],
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    result = json.loads(done.stdout)
    tokens = result["timing"]["prompt_tokens"]
    if tokens < 0.9 * context:
        sys.exit(f"{tokens} tokens do not fill a context of {context}")
    memory = result["memory"]
    stated = memory["planned"] + BASE
    share = memory["peak_resident"] / stated
    if not 0.95 <= share <= 1.05:
        sys.exit(f"{memory['peak_resident']} bytes are resident, {share:.3f} of the "
                 f"{memory['planned']} planned and a base of {BASE}")
    print(f"{context} tokens: resident within 5% of plan and base")


main()
