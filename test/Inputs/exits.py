"""Runs a command that has to end with one exit code, and passes on what it prints.

usage: exits.py CODE [--without PATH] COMMAND...

With --without, the folder of PATH may hold no new file whose name starts with PATH's afterwards:
neither an artifact nor what is left of one.
"""
import subprocess
import sys
from pathlib import Path


def main():
    code, command, path = int(sys.argv[1]), sys.argv[2:], None
    if command[0] == "--without":
        path, command = Path(command[1]), command[2:]
    before = set(path.parent.glob(path.name + "*")) if path else set()
    done = subprocess.run(command, stdin=subprocess.DEVNULL)
    if done.returncode != code:
        sys.exit(f"exit {done.returncode}, {code} expected of: {' '.join(command)}")
    left = set(path.parent.glob(path.name + "*")) - before if path else set()
    if left:
        sys.exit(f"left behind: {', '.join(map(str, sorted(left)))}")


main()
