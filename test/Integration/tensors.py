"""What the executed tests share: files of tensors, runs of the programs, and errors by rows."""
import array
import json
import math
import re
import struct
import subprocess
import sys
from pathlib import Path

CODES = {"F32": "f", "I64": "q"}
BOUNDS = {"evaluator": 5e-6, "cpu": 1e-5}  # least allowed error of one token's row, relative
NOISE_FACTOR = 20  # f32 may differ by so many times the noise of the published code in f32


def read(path):
    """name -> (shape, numbers)"""
    data = Path(path).read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    tensors = {}
    for name, entry in json.loads(data[8 : 8 + length]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        tensors[name] = (entry["shape"], array.array(CODES[entry["dtype"]], data[begin:end]))
    return tensors


def write(path, tensors):
    """`tensors`: name -> (shape, array of f or q)"""
    names = {code: dtype for dtype, code in CODES.items()}
    header, body = {}, bytearray()
    for name, (shape, numbers) in tensors.items():
        begin = len(body)
        body += numbers.tobytes()
        header[name] = {
            "dtype": names[numbers.typecode],
            "shape": list(shape),
            "data_offsets": [begin, len(body)],
        }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    Path(path).write_bytes(struct.pack("<Q", len(text)) + text + body)


def write_prompt(path, ids):
    write(path, {"input_ids": ([1, len(ids)], array.array("q", ids))})
    return path


def call(*command):
    """Runs a program; ends this one with its message when it fails."""
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, errors="replace")
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def compile_model(model, artifact, *options):
    call("llmc-opt", model, "--target=cpu", "-o", artifact, *options)
    return artifact


def trace(subject, prompt, output, *options):
    call("llmc", "trace", subject, "--inputs", prompt, "-o", output, *options)
    return read(output)


def worst_row(got, want):
    """Largest relative L2 error of a row, so that one bad token cannot hide among good ones."""
    if list(got[0]) != list(want[0]):
        return math.inf
    width = want[0][-1]
    worst = 0.0
    for start in range(0, len(want[1]), width):
        g, w = got[1][start : start + width], want[1][start : start + width]
        norm = math.sqrt(sum(x * x for x in w))
        error = math.sqrt(sum((x - y) ** 2 for x, y in zip(g, w)))
        if math.isnan(error):
            return math.inf
        worst = max(worst, error / norm if norm else error)
    return worst


def compare(got, want, names):
    """(error, name) of the worst row of the tensors `names`; one that is missing is infinitely bad."""
    errors = [(worst_row(got[n], want[n]) if n in got else math.inf, n) for n in names]
    return max(errors)


def noise(folder):
    """What the published code loses in f32, relative to the largest logit; from SOURCE.txt."""
    text = (Path(folder) / "SOURCE.txt").read_text()
    return float(re.search(r"\(([\d.e+-]+) of the largest", text).group(1))


def allowed_error(folder, device):
    bound = BOUNDS[device]
    return bound if device == "evaluator" else max(bound, NOISE_FACTOR * noise(folder))
