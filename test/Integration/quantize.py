"""Float weights that llmc quantises give the numbers of the blocks that it made.

usage: quantize.py --type FORMAT --work DIR [--exact]

Compiles a float model with --quantize. The artifact computes what the evaluator computes of the
quantised weights, which is not what the float weights give; its report lists every matrix with
an error that fits the format. The bytes do not depend on the number of threads.
With --exact the weights are values of blocks already: a GGUF file holds these blocks, the
quantiser has to find values without error, and the artifacts of both give the same numbers.
"""
import argparse
import json
import shutil
import sys
from pathlib import Path

import gguf_model
import tensors
import tiny

# Relative RMS errors of weights from a normal distribution.
ERRORS = {"q4_0": (0.07, 0.1), "q4_1": (0.05, 0.08), "q5_0": (0.03, 0.05), "q5_1": (0.02, 0.04),
          "q8_0": (0.003, 0.006), "q4_k": (0.05, 0.08), "q6_k": (0.012, 0.02),
          "q5_k": (0.02, 0.04), "q3_k": (0.1, 0.2), "q2_k": (0.2, 0.35)}
CPU_BOUND = 2e-5


def check(good, text):
    print(f"{'ok' if good else 'WRONG'}: {text}")
    return good


def report(artifact):
    entries = json.loads((artifact / "conversions.json").read_text())["tensors"]
    return {entry["tensor"]: entry for entry in entries}


def exact(arguments, prompt):
    work, kind = arguments.work, arguments.type
    source = tiny.write(work / "source")
    meant = gguf_model.convert(source, work / "model.gguf", kind, tables="q8_0")
    plain = work / "plain"
    plain.mkdir()
    shutil.copy(source / "config.json", plain)
    tensors.write(plain / "model.safetensors", meant)
    steps = ["--greedy", 8]
    quantized = tensors.compile_model(plain, work / "quantized", f"--quantize={kind}")
    blocks = tensors.compile_model(work / "model.gguf", work / "blocks")
    got = tensors.trace(quantized, prompt, work / "got", *steps)
    want = tensors.trace(blocks, prompt, work / "want", *steps)
    error, worst = tensors.compare(got, want, [name for name in want if name != "greedy"])
    errors = report(quantized)
    lost = max(entry["relative_max"] for entry in errors.values())
    formats = sorted({entry["to"] for entry in errors.values()})
    # Rows of q and k stand in another order in the GGUF file, so sums may round otherwise.
    return all([check(lost == 0, f"{len(errors)} tensors lose {lost}"),
                check(formats == sorted({kind, "q8_0"}), f"formats {formats}"),
                check(error <= CPU_BOUND, f"worst row {error:.1e} at {worst}"),
                check(got["greedy"][1] == want["greedy"][1], "greedy tokens are equal")])


def random(arguments, prompt):
    work, kind = arguments.work, arguments.type
    if kind.endswith("_k"):
        tiny.CONFIG |= {"hidden_size": 256, "head_dim": 64, "intermediate_size": 256,
                        "num_hidden_layers": 1}
    source = tiny.write(work / "source")
    artifacts = [tensors.compile_model(source, work / f"artifact{threads}",
                                       f"--quantize={kind}", f"--threads={threads}")
                 for threads in (1, 3)]
    names = ["weights.bin", "conversions.json", "manifest.json"]
    same = all((artifacts[0] / name).read_bytes() == (artifacts[1] / name).read_bytes()
               for name in names)
    steps = ["--greedy", 8]
    got = tensors.trace(artifacts[0], prompt, work / "got", *steps)
    evaluator = ["--device", "evaluator", *steps]
    want = tensors.trace(source, prompt, work / "want", *evaluator, f"--quantize={kind}")
    floats = tensors.trace(source, prompt, work / "floats", *evaluator)
    inner = [name for name in want if name != "greedy"]
    error, worst = tensors.compare(got, want, inner)
    cost, _ = tensors.compare(got, floats, inner)
    errors = report(artifacts[0])
    matrices = [name for name, (shape, _) in tensors.read(source / "model.safetensors").items()
                if len(shape) == 2]
    tables = {"model.embed_tokens.weight", "lm_head.weight"}
    good = [check(same, "the bytes of 1 and 3 threads are equal"),
            check(error <= CPU_BOUND, f"{kind}: worst row {error:.1e} at {worst}"),
            check(cost > 10 * CPU_BOUND, f"floats differ by {cost:.1e}"),
            check(sorted(errors) == sorted(matrices), f"{len(errors)} tensors are reported")]
    for name, entry in errors.items():
        to = "q8_0" if name in tables else kind
        low, high = ERRORS[to]
        if entry["to"] != to or not low < entry["relative_rms"] < high:
            good.append(check(False, f"{entry}"))
    return all(good)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--type", choices=ERRORS, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--exact", action="store_true")
    arguments = parser.parse_args()
    shutil.rmtree(arguments.work, ignore_errors=True)
    arguments.work.mkdir(parents=True)
    prompt = tensors.write_prompt(arguments.work / "prompt", tiny.PROMPT)
    return 0 if (exact if arguments.exact else random)(arguments, prompt) else 1


sys.exit(main())
