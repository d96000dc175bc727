#!/usr/bin/env python3
"""Checks that every path on a documentation page exists.

Paths are the targets of relative links, and text in backticks that begins with a top-level file or
folder of the tree. What holds <, *, {, … or a space is a pattern and not a path. Every top-level folder
must stand in README.md's map.

usage: check_doc_paths.py SOURCE_DIR
"""
import glob
import os
import re
import sys

CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)]*)?\)")
NOT_SOURCE = {".git", ".mirror", "build", "out"}


def check(source):
    top = {name for name in os.listdir(source) if name not in NOT_SOURCE}
    pages = sorted(
        glob.glob(f"{source}/*.md")
        + glob.glob(f"{source}/docs/**/*.md", recursive=True)
        + glob.glob(f"{source}/models/*.md")
        + glob.glob(f"{source}/examples/**/*.md", recursive=True)
    )
    complaints, count = [], 0
    for page in pages:
        fenced = False
        for number, line in enumerate(open(page, encoding="utf-8"), 1):
            if line.startswith("```"):
                fenced = not fenced
            if fenced:
                continue
            found = []
            for text in CODE.findall(line):
                text = text.removeprefix("./").split("#")[0].rstrip("/")
                is_path = text.split("/")[0] in top and ("/" in text or "." in text or
                                                         os.path.isdir(f"{source}/{text}"))
                if is_path and not re.search(r"[<>*{}…()\s]", text):
                    found.append(os.path.join(source, text))
            for link in LINK.findall(line):
                if not re.match(r"[a-z]+:", link):
                    found.append(os.path.join(os.path.dirname(page), link))
            count += len(found)
            complaints += [
                f"{os.path.relpath(page, source)}:{number}: {os.path.relpath(path, source)} does not exist"
                for path in found
                if not os.path.exists(path)
            ]
    readme = open(f"{source}/README.md", encoding="utf-8").read()
    for name in sorted(top):
        hidden = name.startswith(".") or name.startswith("build")
        if os.path.isdir(f"{source}/{name}") and not hidden and f"`{name}" not in readme:
            complaints.append(f"README.md: the map lacks {name}")
    return complaints, count


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    complaints, count = check(sys.argv[1])
    print("\n".join(complaints) if complaints else f"{count} paths exist")
    sys.exit(bool(complaints))


if __name__ == "__main__":
    main()
