#!/usr/bin/env python3
"""Runs the commands of a documentation page and checks the output it shows.

A fenced block that begins with ```sh test is run by bash, in order, in one scratch folder a
page; a command that fails fails the page. A block ```output right after it holds lines that the
command must print, in this order and perhaps with others between them. … stands for any text
inside a line; a line that is only … says that something was left out. Other blocks are not run.

The scratch folder holds tiny/ (a small llama with weights and tokenizer), $SOURCE is the source
tree, and build/models/SmolLM2-135M-Instruct.Q4_1.gguf has the headers of the published file.

usage: run_doc_commands.py [--bin FOLDER] [--keep FOLDER] [-v] PAGE...
"""
import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FENCE = re.compile(r"^```(.*)$")


def blocks(path):
    """(line, info string, lines) of every fenced block."""
    info = None
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        line = line.rstrip("\n")
        fence = FENCE.match(line)
        if fence and info is None:
            info, start, body = fence.group(1).strip(), number, []
        elif fence:
            yield start, info, body
            info = None
        elif info is not None:
            body.append(line)
    if info is not None:
        sys.exit(f"{path}:{start}: the block has no end")


def missing(expected, printed):
    """The first line of `expected` that `printed` lacks, or None."""
    lines = iter(printed.splitlines())
    for want in expected:
        if want.strip() in ("", "…"):
            continue
        pattern = re.compile(".*".join(re.escape(part) for part in want.strip().split("…")))
        if not any(pattern.search(line) for line in lines):
            return want
    return None


def prepare(folder):
    make = os.path.join(SOURCE, "test", "Docs", "Inputs", "make_models.py")
    models = os.path.join(folder, "build", "models")
    file = os.path.join(models, "SmolLM2-135M-Instruct.Q4_1.gguf")
    subprocess.run([sys.executable, make, "tiny", os.path.join(folder, "tiny")], check=True)
    subprocess.run([sys.executable, make, "smollm2", file], check=True)


def run_page(page, folder, verbose):
    """The number of blocks that ran, and the complaint where one failed."""
    prepare(folder)
    count, last = 0, None
    for line, info, body in blocks(page):
        if info == "output":
            if last is None:
                return count, f"{page}:{line}: output without a tested block before it"
            absent = missing(body, last)
            if absent is not None:
                return count, f"{page}:{line}: not printed: {absent.strip()}\nprinted was:\n{last}"
        last = None
        if info != "sh test":
            continue
        script = "\n".join(body)
        if verbose:
            print(f"{page}:{line}:\n{script}", flush=True)
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        last = done.stdout
        if verbose:
            print(last, flush=True)
        if done.returncode:
            return count, f"{page}:{line}: exit {done.returncode} of\n{script}\nprinted was:\n{last}"
        count += 1
    return count, None


def main():
    parser = argparse.ArgumentParser(description="Runs the commands of documentation pages.")
    parser.add_argument("--bin", help="folder of llmc and llmc-opt")
    parser.add_argument("--keep", help="scratch folder to use and to leave")
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("pages", nargs="+")
    arguments = parser.parse_args()
    os.environ["SOURCE"] = SOURCE
    if arguments.bin:
        os.environ["PATH"] = os.path.abspath(arguments.bin) + os.pathsep + os.environ["PATH"]

    def run(page):
        folder = arguments.keep or tempfile.mkdtemp(prefix="llmc-docs-")
        os.makedirs(folder, exist_ok=True)
        try:
            return run_page(page, folder, arguments.verbose)
        finally:
            if not arguments.keep:
                shutil.rmtree(folder, ignore_errors=True)

    failed = False
    one_by_one = arguments.keep or arguments.verbose
    with concurrent.futures.ThreadPoolExecutor(1 if one_by_one else os.cpu_count()) as pool:
        pages = [os.path.abspath(page) for page in arguments.pages]
        for page, (count, complaint) in zip(pages, pool.map(run, pages)):
            failed |= complaint is not None
            print(complaint or f"{os.path.relpath(page)}: {count} blocks ran", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
