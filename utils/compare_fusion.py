#!/usr/bin/env python3
"""Are models faster with fusions than without, and never slower?

    utils/compare_fusion.py --bin BIN [--rounds N] [--prompt-tokens N] [--generate-tokens N] [--threads N]
                            [--disable-fusion NAME]... [--json] [MODEL...]

MODEL is what llmc-opt takes; a config without weights, or a name of the catalogue, stands for its twin (llmc twin).
Without MODEL: twins of the catalogue's KINDS, and the .gguf files in ../shared/real where there are some. Each is compiled twice,
with all fusions and with none (or, with --disable-fusion, without those named), and llmc bench runs both by turns, so
that what disturbs one disturbs the other. Both artifacts must give the same next tokens.

Prints for prefill and decode the tokens a second, and the ratio: the median over the rounds, and between which ratios
half of the rounds lie. "slower" where that whole half is below 1, else the difference is noise. Also the launches of a
step. With --json one object: models [{name, launches {fused, unfused}, prefill and decode {fused, unfused, ratio,
low, high, slower}}]. Exit 1 where something is slower or the tokens differ.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"

# One of each kind: dense, experts, latent attention, recurrent, gated attention beside recurrent layers.
KINDS = ["qwen3-0.6b", "mixtral-8x7b", "deepseek-v3", "nemotron-h-56b", "qwen3-next-80b-a3b"]


def call(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command[:4]))} …: exit {done.returncode}: {done.stderr.strip()[:400]}")
    return done.stdout


class Tools:
    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, Path(folder)

    def run(self, tool, *words):
        return call(Path(self.arguments.bin) / tool, *words)

    def model(self, given, number):
        """The model itself, or its twin where there are no weights."""
        path = Path(given)
        has_weights = any(path.glob("*.safetensors")) if path.is_dir() else path.exists() and path.suffix != ".json"
        if has_weights:
            return path
        twin = self.folder / f"twin{number}"
        self.run("llmc", "twin", given, "-o", twin)
        return twin

    def compile(self, model, number):
        disabled = [word for name in self.arguments.disable_fusion for word in ("--disable-fusion", name)]
        artifacts = []
        for name, flags in (("fused", []), ("unfused", disabled or ["--fusion=off"])):
            artifacts.append(self.folder / f"{name}{number}")
            self.run("llmc-opt", model, "--target=cpu", "-o", artifacts[-1], *flags)
        return artifacts

    def bench(self, artifact):
        a = self.arguments
        threads = ["--threads", a.threads] if a.threads else []
        report = json.loads(self.run("llmc", "bench", artifact, "--prompt-tokens", a.prompt_tokens, "--generate-tokens",
                                     a.generate_tokens, "--repetitions", 1, "--json", *threads))
        return {"prefill": report["prefill_tokens_per_second"], "decode": report["decode_tokens_per_second"]}


def launches(artifact):
    """Launches of a step, repeats counted."""
    def count(steps):
        return sum("launch" in step or (step["repeat"]["count"] * count(step["repeat"]["steps"]) if "repeat" in step else 0)
                   for step in steps)
    manifest = json.loads((artifact / "manifest.json").read_text())
    return sum(count(entry["steps"]) for entry in manifest["entries"])


def compare(tools, artifacts):
    rounds = []
    for number in range(tools.arguments.rounds):
        order = (0, 1) if number % 2 else (1, 0)
        pair = [None, None]
        for which in order:
            pair[which] = tools.bench(artifacts[which])
        rounds.append(pair)
    row = {}
    for what in ("prefill", "decode"):
        ratios = sorted(fused[what] / unfused[what] for fused, unfused in rounds)
        low, _, high = statistics.quantiles(ratios, n=4, method="inclusive")
        row[what] = {"fused": statistics.median(pair[0][what] for pair in rounds),
                     "unfused": statistics.median(pair[1][what] for pair in rounds),
                     "ratio": statistics.median(ratios), "low": low, "high": high, "slower": high < 1}
    return row


def same_tokens(tools, artifacts):
    ids = tools.folder / "ids.safetensors"
    call(sys.executable, ROOT / "utils" / "traces.py", "ids", ids, *[3, 17, 5, 12, 9, 9, 0, 28, 14, 1, 21, 4])
    out = []
    for artifact in artifacts:
        trace = artifact.with_suffix(".safetensors")
        tools.run("llmc", "trace", artifact, "--inputs", ids, "-o", trace, "--only", "logits", "--greedy", 8)
        out.append(trace.read_bytes())
    return out[0] == out[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder with llmc and llmc-opt")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--prompt-tokens", type=int, default=64)
    parser.add_argument("--generate-tokens", type=int, default=48,
                        help="twins hold 128 positions, prompt included")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--disable-fusion", action="append", default=[])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("models", nargs="*", metavar="MODEL")
    arguments = parser.parse_args()
    if arguments.rounds < 2:
        parser.error("--rounds must be at least 2: without a spread nothing can be told from noise")
    models = arguments.models
    if not models:
        models = KINDS + sorted((SHARED / "real").glob("*.gguf"))
    report, failed = [], False
    if not arguments.json:
        print(f"{'model':32} {'launches':>12}  {'prefill tokens/s, ratio':>38}  {'decode tokens/s, ratio':>38}")
    for number, given in enumerate(models):
        with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
            tools = Tools(arguments, folder)
            artifacts = tools.compile(tools.model(given, number), number)
            path = Path(given)
            row = {"name": path.parent.name if path.name == "config.json" else path.name,
                   "launches": {"fused": launches(artifacts[0]), "unfused": launches(artifacts[1])},
                   "same_tokens": same_tokens(tools, artifacts), **compare(tools, artifacts)}
        report.append(row)
        failed |= not row["same_tokens"] or row["prefill"]["slower"] or row["decode"]["slower"]
        if not arguments.json:
            def text(part):
                return (f"{part['fused']:9.0f} {part['unfused']:9.0f} {part['ratio']:5.2f} "
                        f"({part['low']:.2f}-{part['high']:.2f})" + (" SLOWER" if part["slower"] else ""))
            print(f"{row['name'][:32]:32} {row['launches']['unfused']:5} ->{row['launches']['fused']:4}  "
                  f"{text(row['prefill']):>38}  {text(row['decode']):>38}"
                  + ("" if row["same_tokens"] else "  OTHER TOKENS"), flush=True)
    if arguments.json:
        print(json.dumps({"models": report}, indent=1))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
