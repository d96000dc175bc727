"""A prompt of several of the largest steps and many blocks of state against the evaluator.

usage: long_prompt.py --work DIR
"""
import argparse
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "Integration"))
import tensors
import tiny

TOKENS = 560  # more than the 512 of one step, 18 blocks
# The angle, position times frequency, is rounded to f32 as in the published code: 3e-5 at 512.
BOUND = 1e-4


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", type=Path, required=True)
    work = parser.parse_args().work
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    tiny.CONFIG.update(max_position_embeddings=1024, num_hidden_layers=2)
    model = tiny.write(work / "model")
    ids = [(7 * i * i + 3 * i + 5) % 131 for i in range(TOKENS)]
    prompt = tensors.write_prompt(work / "prompt", ids)
    want = tensors.trace(model, prompt, work / "want", "--device", "evaluator")
    artifact = tensors.compile_model(model, work / "artifact")
    got = tensors.trace(artifact, prompt, work / "got")
    error, worst = tensors.compare(got, want, list(want))
    print(f"{TOKENS} tokens: worst row {error:.1e} at {worst}, {BOUND:.0e} allowed")
    bits = got["logits"][1].tobytes()
    for chunk in (1, 100):
        again = tensors.trace(artifact, prompt, work / "again", "--only", "logits", "--chunk", chunk)
        if again["logits"][1].tobytes() != bits:
            sys.exit(f"chunks of {chunk}: the logits have other bits")
    return 0 if error <= BOUND and len(want) > 3 else 1


sys.exit(main())
