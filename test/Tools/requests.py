"""Many prompts in one run of llmc give what runs alone give.

usage: requests.py ARTIFACT
"""
import json
import math
import subprocess
import sys

ARTIFACT = sys.argv[1]


def llmc(*arguments, given=None, code=0):
    done = subprocess.run(["llmc", "run", ARTIFACT, *arguments], input=given, capture_output=True,
                          text=True)
    if done.returncode != code:
        sys.exit(f"{arguments}: exit {done.returncode}: {done.stderr}")
    return done.stdout


def same(one, other, what):
    for key in ("tokens", "text", "finish", "prompt_tokens", "logprobs", "prompt_logprobs"):
        if one.get(key) != other.get(key):
            sys.exit(f"{what}: {key}: {one.get(key)} and {other.get(key)}")


scored = json.loads(llmc("--prompt", "the cat", "--max-tokens", "5", "--ignore-eos", "--logprobs",
                         "2", "--prompt-logprobs", "--json"))
if len(scored["logprobs"]) != 5 or len(scored["prompt_logprobs"]) != len(scored["prompt_tokens"]) - 1:
    sys.exit(f"scores are missing: {scored}")
for token, score in zip(scored["tokens"], scored["logprobs"]):
    if not score["id"] == token == score["top"][0]["id"] or score["logprob"] != score["top"][0]["logprob"]:
        sys.exit(f"not the likeliest: {score}")
for token, score in zip(scored["prompt_tokens"][1:], scored["prompt_logprobs"]):
    if score["id"] != token or not -math.inf < score["logprob"] <= 0 or len(score["top"]) != 2:
        sys.exit(f"not a score of {token}: {score}")
    if bytes(score["bytes"]).decode(errors="replace") != score["text"]:
        sys.exit(f"text is not bytes: {score}")
print("scores: those of the prompt and of the tokens, each the likeliest where greedy")

prompts = ["the cat", "the", "a cat is on the", "on", "the cat is on"]
flags = ["--max-tokens", "6", "--temperature", "0.8", "--seed", "11", "--logprobs", "1"]
alone = [json.loads(llmc("--prompt", prompt, *flags, "--json")) for prompt in prompts]
many = json.loads(llmc(*(flag for prompt in prompts for flag in ("--prompt", prompt)), *flags,
                       "--json"))
if len(many["results"]) != len(prompts):
    sys.exit(f"{len(many['results'])} results")
for one, other in zip(alone, many["results"]):
    same(one, other, "several prompts")
print("several prompts: equal to runs alone")

lines = [json.dumps({"id": i, "prompt": prompt, "max_tokens": 6, "temperature": 0.8, "seed": 11,
                     "logprobs": 1}) for i, prompt in enumerate(prompts)]
bad = ["no json", "[1]", '{"prompt": "a", "prompt": "b"}', '{"prompt": "a", "unknown": 1}', '{"prompt": "a", "seed": -1}',
       '{"id": "both", "prompt": "a", "messages": []}', '{"prompt": "a", "top_p": 7}']
out = [json.loads(line)
       for line in llmc("--jsonl", "-", given="\n".join([*lines, "", *bad]), code=1).splitlines()]
results = {line["id"]: line for line in out if "error" not in line}
faults = {line["line"]: line for line in out if "error" in line}
if sorted(results) != list(range(len(prompts))) or len(out) != len(results) + len(faults):
    sys.exit(f"results of {sorted(results)}")
for i, one in enumerate(alone):
    same(one, results[i], "JSON lines")
    if results[i]["line"] != i + 1:
        sys.exit(f"line {results[i]['line']} of request {i}")
if sorted(faults) != [7, 8, 9, 10, 11, 12, 13] or faults[12].get("id") != "both":
    sys.exit(f"faults: {faults}")
print(f"JSON lines: equal to runs alone, {len(faults)} faults told by line")


def ask(**request):
    out = llmc("--jsonl", "-", given=json.dumps({"max_tokens": 4, **request}))
    return json.loads(out)


def refused(words, **request):
    out = llmc("--jsonl", "-", given=json.dumps(request), code=1)
    if words not in json.loads(out).get("error", ""):
        sys.exit(f"{request}: {out}")


ids = ask(prompt="the cat", raw=True)["prompt_tokens"]
same(ask(prompt=ids), ask(prompt="the cat", raw=True), "token ids")
refused('"prompt" is 131, wanted a whole number from 0 to 130', prompt=[1, 131])
refused('"prompt" is -1,', prompt=[-1])
refused('"prompt" is 1.5,', prompt=[1.5])
refused("the prompt has no tokens", prompt=[])
refused('"system" is for a text; "prompt" is a list of token ids', prompt=[1], system="be")
if ask(prompt="</s>", raw=True, parse_special=True)["prompt_tokens"] != [2]:
    sys.exit("</s> is not taken as a special token")
if 2 in ask(prompt="</s>", raw=True)["prompt_tokens"]:
    sys.exit("</s> is taken as a special token")
refused("--parse-special is for prompts without the chat template", prompt="a", parse_special=True)


def say(content):
    return [{"role": "user", "content": content}]


def part(text):
    return {"type": "text", "text": text}


same(ask(messages=say([part("the"), part("cat")])), ask(messages=say("the\ncat")), "parts")
same(ask(messages=say([part("the cat")])), ask(messages=say("the cat")), "one part")
same(ask(messages=say("the cat"), template_args={"add": 1}), ask(messages=say("the cat")), "args")
refused('"messages" is an empty list', messages=[])
refused('"raw" goes with "prompt"', messages=say("a"), raw=True)
refused('"template_args" has "messages"', prompt="a", template_args={"messages": []})
refused('"template_args" is array', prompt="a", template_args=[])
refused('"prompt" is 7, wanted a string or a list of token ids', prompt=7)
print("token ids, special tokens, parts of content, template_args: as they should, 11 faults")

process = subprocess.Popen(["llmc", "run", ARTIFACT, "--jsonl", "-"], stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE, text=True)
for i in range(3):
    process.stdin.write(lines[i] + "\n")
    process.stdin.flush()
    same(alone[i], json.loads(process.stdout.readline()), "pipe")
process.stdin.close()
if process.wait() != 0:
    sys.exit(f"exit {process.returncode}")
print("a pipe that stays open: answered before it ends")
