"""Computes what a llama's launches move from its shapes and compares the fusion report."""

import json
import re
import subprocess
import sys

config_file = sys.argv[1]
config = json.load(open(config_file))
H, F, V = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
L, head = config["num_hidden_layers"], config["head_dim"]
Q, K = config["num_attention_heads"] * head, config["num_key_value_heads"] * head

# A layer's launches as they are written down, f32 elements of rows that each reads and writes.
UNFUSED = [
    ("norm", H + H), ("q", H + Q), ("k", H + K), ("v", H + K), ("turn q", Q + Q), ("turn k", K + K),
    ("append", K + K), ("attend", Q + Q), ("o", Q + H), ("add", H + H + H), ("norm", H + H),
    ("gate", H + F), ("up", H + F), ("act", F + F + F), ("down", F + H), ("add", H + H + H)]
FUSED = [
    ("norm", H + H), ("qkv", H + Q + 2 * K), ("prologue", Q + 2 * K + Q), ("attend", Q + Q),
    ("o, add", Q + H + H), ("norm", H + H), ("gated", H + F), ("down, add", F + H + H)]
KEPT = ("gated-linear", "qkv-linear", "linear-residual", "attention-prologue")



def run(*flags):
    return subprocess.run(["llmc-opt", config_file, *flags], check=True, capture_output=True,
                          text=True).stdout


def opt(*flags):
    return json.loads(run("--emit=fusion-report", "--json", *flags))


def packed(*flags):
    """Weights as the plan packs them, all layers: their bytes are padded, panel by panel."""
    weights = {}
    for name, layers, size in re.findall(
            r"plan.weights @(\S+) in @weights (layers <0 to \d+>)?.*? bytes (\d+) base",
            run("--emit=plan", *flags)):
        weights[name] = int(size) * (L if layers else 1)
    return sum(weights.values()), weights["embed"], weights["frequencies"]


names = [row["name"] for row in json.loads(subprocess.run(
    ["llmc-opt", "--list-fusions", "--json"], check=True, capture_output=True, text=True).stdout)["fusions"]]
others = [f"--disable-fusion={name}" for name in names if name not in KEPT]
report = opt(*others)
weights = {"unfused": packed("--fusion=off"), "fused": packed(*others)}


def rows(launches, tokens):
    """Embedding, final norm in place, the chosen row, the head; and the layers."""
    ends = tokens * H + tokens * 2 * H + 2 * H + H + V
    return 4 * (ends + L * tokens * sum(elements for _, elements in launches))


for step in report["steps"]:
    tokens, past = step["tokens"], step["past"]
    positions = past + tokens
    state = L * 4 * 2 * K * (positions + tokens)
    for form, launches, turns in (("unfused", UNFUSED, 2), ("fused", FUSED, 1)):
        got = step[form]
        assert got["rows"] == rows(launches, tokens), (form, got, rows(launches, tokens))
        assert got["state"] == state, (form, got, state)
        assert got["token_ids"] == 4 * tokens
        # Every weight once, the frequencies once a launch, and the rows of the table once more.
        everything, table, frequencies = weights[form]
        expected = everything + frequencies * (turns * L - 1) + min(table, table / V * tokens)
        assert abs(got["weights"] - expected) <= 1, (form, got, expected)
    least = step["unavoidable"]
    assert least["weights"] == weights["fused"][0] and least["state"] == state and least["rows"] == 4 * V
    share = least["total"] / step["fused"]["total"]
    assert abs(step["unavoidable_share_fused"] - share) < 1e-6
    print(f"{step['name']}: rows, weights, state and launches are as computed")
assert report["launches_unfused"] == L * len(UNFUSED) + 4, report["launches_unfused"]
assert report["launches_fused"] == L * len(FUSED) + 4, report["launches_fused"]


def add_up(report):
    saved = report["launches_unfused"] - report["launches_fused"]
    assert sum(row["launches_saved"] for row in report["patterns"]) == saved
    for step in report["steps"]:
        total = step["unfused"]["total"] - step["fused"]["total"]
        got = sum(row["bytes_saved"][step["name"]] for row in report["patterns"])
        assert abs(total - got) <= len(report["patterns"]), (step["name"], total, got)


add_up(report)
add_up(opt())
for row in report["patterns"]:
    assert row["enabled"] == (row["name"] in KEPT)
    assert row["enabled"] or row["made"] == 0
print("patterns add up")
off = opt("--fusion=off")
assert off["launches_fused"] == off["launches_unfused"] == report["launches_unfused"]
print("disabled: as without fusions")
