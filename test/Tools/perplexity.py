"""The likelihood of a text longer than the context is that of its windows, token by token.

usage: perplexity.py ARTIFACT CONTEXT

The windows are given to llmc run as token ids; where the text begins with <s>, so does each.
"""
import json
import math
import subprocess
import sys

ARTIFACT, CONTEXT = sys.argv[1], int(sys.argv[2])
BEGIN = 1  # <s>


def llmc(*arguments, given=None):
    done = subprocess.run(["llmc", *arguments], input=given, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{arguments}: exit {done.returncode}: {done.stderr}")
    return done.stdout


text = "the cat is on the mat and it sat in the hat there " * 3
with open("text", "w") as file:
    file.write(text)
ids = json.loads(llmc("run", ARTIFACT, "--raw", "--prompt", text, "--max-tokens", "0",
                      "--json"))["prompt_tokens"]
repeated = ids[:1] if ids[0] == BEGIN else []
width = CONTEXT - len(repeated)
body = ids[len(repeated):]
if len(body) < 2 * width + 2:
    sys.exit(f"{len(ids)} tokens are no three windows of {CONTEXT}")
requests, first = [], []
for start in range(0, len(body), width):
    # One token more than the window: it is predicted too.
    window = repeated + body[start:start + width + 1]
    if len(window) > 1 + len(repeated) or start == 0:
        requests.append({"id": len(requests), "prompt": window, "logprobs": 0, "max_tokens": 0,
                         "prompt_logprobs": True})
        first.append(len(repeated) if start else 0)
out = llmc("run", ARTIFACT, "--jsonl", "-", given="\n".join(map(json.dumps, requests)))
results = {one["id"]: one for one in map(json.loads, out.splitlines())}
sums = [score["logprob"] for i, skipped in enumerate(first)
        for score in results[i]["prompt_logprobs"][skipped:]]
got = json.loads(llmc("verify", ARTIFACT, "--context", str(CONTEXT), "--perplexity", "text",
                      "--json"))
want = -sum(sums) / len(sums)
if len(sums) != len(ids) - 1 or got["tokens"] != len(sums) or got["windows"] != len(requests):
    sys.exit(f"{len(sums)} scores of {len(ids)} tokens in {len(requests)} windows: {got}")
if not math.isclose(got["mean_nll"], want, rel_tol=1e-9):
    sys.exit(f"mean {got['mean_nll']} instead of {want}")
print(f"{len(requests)} windows of {CONTEXT} tokens, {len(repeated)} repeated: equal")
