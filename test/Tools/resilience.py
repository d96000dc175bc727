"""What happens to an artifact when the compiler dies, meets limits or has company.

usage: resilience.py killed TIMES LLMC_OPT LLMC OLD_MODEL NEW_MODEL FOLDER
       resilience.py together TIMES LLMC_OPT LLMC MODEL MODEL FOLDER
       resilience.py full LLMC_OPT MODEL FOLDER
       resilience.py readonly LLMC_OPT MODEL FOLDER
       resilience.py memory LLMC_OPT LLMC MODEL FOLDER

Prints what was seen; fails where an artifact is neither the old nor the new one,
something is left beside it, or a program ends by a signal.
"""

import hashlib
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def compile_command(llmc_opt, model, target):
    return [llmc_opt, model, "--target=cpu", "-o", str(target)]


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="replace", timeout=120, **options)


def contents(folder):
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
            for p in sorted(Path(folder).rglob("*")) if p.is_file()}


def leftovers(target):
    return sorted(p.name for p in target.parent.iterdir() if p.name != target.name)


def must(condition, message):
    if not condition:
        sys.exit("FAILED: " + message)


def compiled(llmc_opt, model, target):
    result = run(compile_command(llmc_opt, model, target))
    must(result.returncode == 0, result.stderr)
    return contents(target)


def killed(times, llmc_opt, llmc, old_model, new_model, folder):
    """kill -9 at random moments, half of them while files are written."""
    target = Path(folder) / "artifact"
    target.parent.mkdir(parents=True)
    start = time.monotonic()
    new = compiled(llmc_opt, new_model, target)
    length = time.monotonic() - start
    old = compiled(llmc_opt, old_model, target)
    must(old != new, "the two models give the same artifact")
    seen = {"old": 0, "new": 0, "left beside": 0}
    chance = random.Random(4)
    for i in range(int(times)):
        process = subprocess.Popen(compile_command(llmc_opt, new_model, target),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if i % 2:
            own = Path(f"{target}.partial-{process.pid}")
            while process.poll() is None and not own.exists():
                time.sleep(0.0005)
            time.sleep(chance.random() * length * 0.6)
        else:
            time.sleep(chance.random() * length)
        process.send_signal(signal.SIGKILL)
        process.wait()
        seen["left beside"] += bool(leftovers(target))
        now = contents(target)
        must(now in (old, new), f"kill {i} left a mix: {now}")
        must(run([llmc, "verify", str(target)]).returncode == 0, f"kill {i}: verify refuses")
        seen["new" if now == new else "old"] += 1
        if now == new:
            must(compiled(llmc_opt, old_model, target) == old, "the old artifact changed")
    compiled(llmc_opt, new_model, target)
    must(not leftovers(target), f"left after a whole compilation: {leftovers(target)}")
    print(f"{times} kills: old {seen['old']}, new {seen['new']}; remains {seen['left beside']}, "
          "all removed by the next compilation")


def together(times, llmc_opt, llmc, one, other, folder):
    target = Path(folder) / "artifact"
    target.parent.mkdir(parents=True)
    known = [compiled(llmc_opt, model, target) for model in (one, other)]
    for i in range(int(times)):
        if i % 2:
            shutil.rmtree(target)
        pair = [subprocess.Popen(compile_command(llmc_opt, model, target), text=True,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                for model in (one, other)]
        for process in pair:
            _, message = process.communicate(timeout=120)
            must(process.returncode == 0, f"ended with {process.returncode}: {message}")
        must(contents(target) in known, f"{i}: a mix of two artifacts")
        must(run([llmc, "verify", str(target)]).returncode == 0, f"{i}: verify refuses")
        must(not leftovers(target), f"{i}: left {leftovers(target)}")
    print(f"{times} pairs: one whole artifact each time")


def refused(result, target, before, what):
    must(result.returncode == 1, f"{what}: ended with {result.returncode}: {result.stderr}")
    must("error: " in result.stderr and "internal error" not in result.stderr,
         f"{what}: says {result.stderr!r}")
    must(not leftovers(target), f"{what}: left {leftovers(target)}")
    must((contents(target) if target.exists() else None) == before, f"{what}: the artifact changed")


def full(llmc_opt, model, folder):
    """Files may not grow past a size; as root with mount also a file system that is full."""
    target = Path(folder) / "limited" / "artifact"
    target.parent.mkdir(parents=True)
    before = compiled(llmc_opt, model, target)
    sizes = sorted(p.stat().st_size for p in target.rglob("*") if p.is_file())
    for limit in [100] + [size - 1 for size in sizes]:
        result = run(compile_command(llmc_opt, model, target),
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        refused(result, target, before, f"files of at most {limit} bytes")
    print(f"{len(sizes) + 1} limits of a file's size: refused, the old artifact stays")
    mounted = Path(folder) / "small"
    mounted.mkdir()
    total = sum(sizes)
    done = 0
    for part in (0.05, 0.3, 0.6, 0.9):
        size = max(4096, int(total * part)) // 4096 * 4096
        if os.geteuid() != 0 or run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs",
                                     str(mounted)]).returncode != 0:
            break
        try:
            result = run(compile_command(llmc_opt, model, mounted / "artifact"))
            refused(result, mounted / "artifact", None, f"a disk of {size} bytes")
        finally:
            run(["umount", str(mounted)])
        done += 1
    print(f"{done} full disks: refused" if done else "skipped: no right to mount a small disk")


def readonly(llmc_opt, model, folder):
    parent = Path(folder) / "readonly"
    target = parent / "artifact"
    parent.mkdir(parents=True)
    user = {}
    if os.geteuid() == 0:
        user = {"user": 65534, "group": 65534, "extra_groups": []}
        try:
            reached = all(run(command, **user).returncode == 0 for command in
                          ([llmc_opt, "--version"], ["test", "-r", model],
                           ["test", "-x", str(parent)]))
        except PermissionError:
            reached = False
        if not reached:
            print("skipped: the build cannot be read by another user than root")
            return
    os.chmod(parent, 0o555)
    try:
        refused(run(compile_command(llmc_opt, model, target), **user), target, None, "read-only")
    finally:
        os.chmod(parent, 0o755)
    print("a folder that may not be written: refused")


def memory(llmc_opt, llmc, model, folder):
    target = Path(folder) / "artifact"
    target.parent.mkdir(parents=True)
    before = compiled(llmc_opt, model, target)
    for name, command in (
            ("compile", compile_command(llmc_opt, model, target)),
            ("run", [llmc, "bench", str(target), "--prompt-tokens", "8", "--generate-tokens", "2",
                     "--repetitions", "1"])):
        codes = {}
        limit, step = 16 << 20, 1.3
        while True:
            result = run(command, preexec_fn=lambda: (
                resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0))))
            code = result.returncode
            # Before main it is the loader that gives up.
            loader = code == 127 or "error while loading shared libraries" in result.stderr
            if not loader:
                codes[code] = codes.get(code, 0) + 1
                must(code in (0, 1, 3), f"{name} in {limit >> 20} MiB ended with {code}: "
                                        f"{result.stderr[-400:]}")
                must(code == 0 or result.stderr.strip(), f"{name} in {limit >> 20} MiB: no word")
            must(not leftovers(target), f"{name} in {limit >> 20} MiB: left {leftovers(target)}")
            must(contents(target) == before, f"{name} in {limit >> 20} MiB: another artifact")
            if code == 0 and not loader:
                break
            limit = int(limit * step)
            must(limit < 1 << 42, f"{name} never ends well")
        must(codes.get(1), f"{name}: no limit was ever reported with exit code 1: {codes}")
        print(f"{name}: reported with " + ", ".join(f"{c} ({n} times)" for c, n in sorted(codes.items())))


globals()[sys.argv[1]](*sys.argv[2:])
