#!/usr/bin/env python3
"""Writes the expected texts of the chat template tests, as Jinja2 prints them.

Reads unittests/Runtime/Chat/Data: expressions.txt (small templates, one a line)
and *.jinja (templates of model families), and writes expressions.json and
families.json beside them. Needs the package jinja2; the tests do not.

    utils/make_chat_template_tests.py
"""

import json
import pathlib

import compare_chat_templates as compare

DATA = pathlib.Path(__file__).resolve().parents[1] / "unittests" / "Runtime" / "Chat" / "Data"

# Of conversations(): those that every family is rendered with.
FAMILY_CASES = ["user+prompt", "turns+prompt", "turns", "system", "system-turns+prompt", "answered",
                "thinking+prompt", "reasoning+prompt", "parts+prompt", "two-systems+prompt",
                "assistant-first", "tools-system+prompt", "tools-result+prompt", "tools-answer",
                "tools-twice+prompt", "tools-text", "tools-none+prompt", "tools-reasoning+prompt",
                "documents", "system+enable_thinking=False", "system+thinking=True", "effort-high",
                "date"]


def unescaped(line):
    meaning = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\"}
    out, at = "", 0
    while at < len(line):
        if line[at] == "\\":
            out += meaning[line[at + 1]]
            at += 2
        else:
            out += line[at]
            at += 1
    return out


def parts(source):
    """Expressions with bars between them, one by one: an error hides none of them."""
    if not source.startswith("{{") or any(mark in source for mark in ("{%", "{#", "\n")):
        return [source]
    return source.replace("}}|{{", "}}\0{{").split("\0")


def write(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def main():
    env = compare.environment()
    variables = json.loads((DATA / "variables.json").read_text())
    cases = []
    for line in (DATA / "expressions.txt").read_text().split("\n"):
        if not line or line.startswith("# "):
            continue
        for source in parts(unescaped(line)):
            text, error = compare.by_jinja(env, source, variables)
            if text is not None and " at 0x" in text:
                raise SystemExit(f"{source}: prints an address")
            cases.append({"template": source, "text": text} if error is None
                         else {"template": source, "error": error.split(":")[0]})
    write(DATA / "expressions.json", cases)

    conversations = compare.conversations()
    variables = {name: {**compare.TOKENS, **conversations[name]} for name in FAMILY_CASES}
    families = {}
    for path in sorted(DATA.glob("*.jinja")):
        source, families[path.stem] = path.read_text(), {}
        for name in FAMILY_CASES:
            text, error = compare.by_jinja(env, source, variables[name])
            if error and not error.startswith(("TemplateError", "UndefinedError", "TypeError")):
                raise SystemExit(f"{path.name}, {name}: {error}")
            families[path.stem][name] = text  # null: refused
    write(DATA / "families.json", {"now": compare.NOW, "variables": variables, "texts": families})


if __name__ == "__main__":
    main()
