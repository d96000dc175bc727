"""Compares manual pages and completions with the help of llmc.

usage: pages.py FOLDER
"""
import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(sys.argv[1])


def help_of(*command):
    return subprocess.run(["llmc", *command, "--help"], capture_output=True, text=True,
                          check=True).stdout


scripts = {name: (FOLDER / name).read_text() for name in ("llmc", "_llmc", "llmc.fish")}
main = help_of()
commands = re.findall(r"^  ([\w-]+) ", main[main.index("Subcommands:"):], re.M)
flags = 0
for command in [[], *([name] for name in commands)]:
    page = FOLDER / ("-".join(["llmc", *command]) + ".1")
    manual = page.read_text().replace("\\-", "-")
    for flag in set(re.findall(r"^  (?:-\w,)?(--[\w-]+)", help_of(*command), re.M)):
        flags += 1
        if not re.search(rf"{flag}\b(?!-)", manual):
            sys.exit(f"{page.name} has no {flag}")
        for name, script in scripts.items():
            wanted = f"-l {flag[2:]}" if name == "llmc.fish" else flag
            if not re.search(rf"{wanted}\b(?!-)", script):
                sys.exit(f"{name} has no {flag}")
for name in commands:
    for script in scripts.values():
        if name not in script:
            sys.exit(f"no completion of {name}")
if sorted(page.name for page in FOLDER.glob("*.1")) != sorted(
        ["llmc.1", "llmc-opt.1", *(f"llmc-{name}.1" for name in commands)]):
    sys.exit("other pages than commands")
# The compiler's own program has the flags of llmc compile.
compiler = subprocess.run(["llmc-opt", "--help-compile"], capture_output=True, text=True,
                          check=True).stdout
page = (FOLDER / "llmc-opt.1").read_text().replace("\\-", "-")
for flag in set(re.findall(r"^  (?:-\w,)?(--[\w-]+)", compiler, re.M)):
    if not re.search(rf"{flag}\b(?!-)", page):
        sys.exit(f"llmc-opt.1 has no {flag}")
if ".TH LLMC-OPT 1" not in page or ".B llmc-opt\n" not in page:
    sys.exit("llmc-opt.1 is the page of something else")
print(f"{len(commands)} commands, {flags} flags")
