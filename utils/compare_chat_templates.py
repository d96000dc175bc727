#!/usr/bin/env python3
"""Compares llmc's rendering of chat templates with that of Jinja2.

Renders every *.jinja file of a folder, for a set of conversations, with Jinja2
(the package jinja2, with the settings of Hugging Face transformers) and with
llmc, and prints every difference:

    utils/compare_chat_templates.py --library build/dev/lib/libllmc-runtime.so FOLDER

Texts must be equal; where one of the two refuses a conversation, so must the
other. A folder may hold a file NAME.json beside NAME.jinja with more variables
for that template.
"""

import argparse
import ctypes
import datetime
import difflib
import functools
import json
import os
import pathlib
import sys
import time

NOW = 1735689600  # 2025-01-01T00:00:00Z


def environment():
    """The environment in which transformers renders chat templates."""
    import jinja2
    import jinja2.ext
    import jinja2.sandbox

    class Generation(jinja2.ext.Extension):
        tags = {"generation"}

        def parse(self, parser):
            line = next(parser.stream).lineno
            body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
            return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

        @staticmethod
        def _body(caller):
            return caller()

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                          sort_keys=sort_keys)

    def strftime_now(text):
        return datetime.datetime.fromtimestamp(NOW, datetime.timezone.utc).strftime(text)

    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = strftime_now
    return env


@functools.lru_cache(maxsize=4)
def compiled(env, source):
    return env.from_string(source)


def by_jinja(env, source, variables):
    """(text, None) or (None, error)."""
    try:
        return compiled(env, source).render(**variables), None
    except Exception as error:  # whatever a template may raise
        return None, f"{type(error).__name__}: {error}"


class Llmc:
    """llmc's interpreter, through the C interface."""

    def __init__(self, library):
        os.environ["TZ"] = "UTC"
        time.tzset()
        self.library = ctypes.CDLL(library)
        self.render_function = self.library.llmc_chat_template_render
        self.library.llmc_error_message.restype = ctypes.c_char_p
        self.buffer = ctypes.create_string_buffer(1 << 16)

    def render(self, source, variables):
        """(text, None) or (None, error)."""
        text, given = source.encode(), json.dumps(variables, ensure_ascii=False).encode()
        now, size, room = ctypes.c_int64(NOW), ctypes.c_size_t(), len(self.buffer)
        while True:
            if room > len(self.buffer):
                self.buffer = ctypes.create_string_buffer(room)
            buffer, size.value = self.buffer, room
            status = self.render_function(
                text, ctypes.c_size_t(len(text)), given, ctypes.c_size_t(len(given)),
                ctypes.byref(now), buffer, ctypes.byref(size))
            if status:
                return None, self.library.llmc_error_message().decode()
            if size.value <= room:
                return buffer[:size.value].decode(), None
            room = size.value


def tool(name, description, properties, required):
    return {"type": "function", "function": {
        "name": name, "description": description,
        "parameters": {"type": "object", "properties": properties, "required": required}}}


TOOLS = [
    tool("get_weather", "Weather of a place, \"now\" or later",
         {"city": {"type": "string", "description": "Name of the place"},
          "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
          "days": {"type": ["integer", "null"], "default": 1}}, ["city"]),
    tool("add", "Adds <numbers> & more",
         {"values": {"type": "array", "items": {"type": "number"}, "description": "Was ist größer?"},
          "options": {"type": "object", "properties": {
              "round": {"type": "boolean"}, "digits": {"type": "integer"}}}}, ["values"]),
]


def call(name, arguments, key="call00001"):
    return {"id": key, "type": "function", "function": {"name": name, "arguments": arguments}}


def conversations():
    """name -> variables beyond the tokens."""
    system = {"role": "system", "content": "You are terse."}
    hi = {"role": "user", "content": "Hi <there>, what's \"new\"?\n"}
    hello = {"role": "assistant", "content": " Hello! Größe: 5 µm 😀 "}
    more = {"role": "user", "content": "  Tell me more.  "}
    thinking = {"role": "assistant", "content": "<think>\nWell, hm.\n</think>\n\nIt is 4."}
    reasoning = {"role": "assistant", "content": "It is 4.", "reasoning_content": "Two and two.",
                 "thinking": "Two and two.", "reasoning": "Two and two."}
    weather = {"role": "user", "content": "Weather in Köln?"}
    called = {"role": "assistant", "content": "",
              "tool_calls": [call("get_weather", {"city": "Köln", "unit": "celsius"})]}
    called_none = {"role": "assistant", "content": None, "tool_calls": called["tool_calls"]}
    called_text = {"role": "assistant", "content": "Let me see.",
                   "tool_calls": [call("get_weather", {"city": "Köln", "days": 2, "x": [1, 2.5, None, True]})]}
    called_twice = {"role": "assistant", "content": "", "tool_calls": [
        call("get_weather", {"city": "Köln"}), call("add", {"values": [1, 2]}, "call00002")]}
    called_json = {"role": "assistant", "content": "",
                   "tool_calls": [call("get_weather", "{\"city\": \"Köln\"}")]}
    bare = {"role": "assistant", "content": "", "tool_calls": [
        {"id": "call00001", "name": "get_weather", "arguments": {"city": "Köln"}}]}
    result = {"role": "tool", "tool_call_id": "call00001", "name": "get_weather",
              "content": "{\"degrees\": 21.5}"}
    result2 = {"role": "tool", "tool_call_id": "call00002", "name": "add", "content": "3"}
    result_map = {"role": "tool", "tool_call_id": "call00001", "name": "get_weather",
                  "content": {"degrees": 21.5, "sky": "clear"}}
    answer = {"role": "assistant", "content": "It is 21.5 degrees."}
    parts = {"role": "user", "content": [{"type": "text", "text": "What is in "},
                                         {"type": "image"}, {"type": "text", "text": "this?"}]}
    image = {"role": "user", "content": [
        {"type": "image_url", "image_url": {"url": "http://localhost/a.png"}},
        {"type": "text", "text": "And that?"}]}
    documents = [{"title": "Rivers", "text": "The Rhine is long.", "doc_id": 1, "content": "Rhine"},
                 {"title": "Hills", "text": "The Feldberg is high.", "doc_id": 2, "content": "Hill"}]
    messages = {
        "user": [hi],
        "system": [system, hi],
        "turns": [hi, hello, more],
        "system-turns": [system, hi, hello, more, hello, hi],
        "answered": [system, hi, hello],
        "thinking": [hi, thinking, more],
        "reasoning": [system, hi, reasoning, more],
        "reasoning-last": [hi, reasoning],
        "developer": [{"role": "developer", "content": "Be kind."}, hi],
        "parts": [parts],
        "system-parts": [{"role": "system", "content": [{"type": "text", "text": "Terse."}]}, parts,
                         {"role": "assistant", "content": [{"type": "text", "text": "A cat."}]}, image],
        "two-users": [hi, more],
        "two-systems": [system, system, hi],
        "assistant-first": [hello, hi],
        "empty": [],
        "empty-content": [{"role": "user", "content": ""}],
        "no-content": [{"role": "user"}],
        "null-content": [{"role": "user", "content": None}],
        "unknown-role": [{"role": "narrator", "content": "Then..."}, hi],
    }
    tooled = {
        "tools": [hi],
        "tools-system": [system, weather],
        "tools-called": [weather, called],
        "tools-result": [weather, called, result],
        "tools-answer": [system, weather, called, result, answer, more],
        "tools-twice": [weather, called_twice, result, result2, answer, hi],
        "tools-text": [weather, called_text, result],
        "tools-none": [weather, called_none, result],
        "tools-json": [weather, called_json, result, answer],
        "tools-bare": [weather, bare, result, answer],
        "tools-map": [weather, called, result_map],
        "tools-reasoning": [weather, dict(called, reasoning_content="Look it up.",
                                          thinking="Look it up.", reasoning="Look it up."), result],
        "tools-late": [hi, hello, weather, called, result, answer, more, hello, weather, called, result],
    }
    found = {}
    for prompt in (True, False):
        suffix = "+prompt" if prompt else ""
        for name, list_ in messages.items():
            found[name + suffix] = {"messages": list_, "tools": None, "documents": None,
                                    "add_generation_prompt": prompt}
        for name, list_ in tooled.items():
            found[name + suffix] = {"messages": list_, "tools": TOOLS, "documents": None,
                                    "add_generation_prompt": prompt}
    for flag in ("enable_thinking", "thinking"):
        for value in (True, False):
            for base in ("turns", "system", "tools-answer", "thinking", "reasoning"):
                found[f"{base}+{flag}={value}"] = dict(found[base + "+prompt"], **{flag: value})
    found["documents"] = dict(found["turns+prompt"], documents=documents)
    found["documents-tools"] = dict(found["tools-answer+prompt"], documents=documents)
    for effort in ("low", "high"):
        found["effort-" + effort] = dict(found["system+prompt"], reasoning_effort=effort)
    found["builtin-tools"] = dict(found["tools-system+prompt"], builtin_tools=["browser", "python", "brave_search"])
    found["in-user"] = dict(found["tools-system+prompt"], tools_in_user_message=False)
    found["date"] = dict(found["system+prompt"], date_string="01 Feb 2025", today_date="2025-02-01")
    found["model-identity"] = dict(found["system+prompt"], model_identity="You are a test.")
    return found


TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", required=True, help="libllmc-runtime.so")
    parser.add_argument("--show", type=int, default=20, help="differences to print in full")
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    env, llmc = environment(), Llmc(arguments.library)
    files = sorted(arguments.folder.glob("*.jinja"))
    if not files:
        sys.exit(f"{arguments.folder}: holds no *.jinja")
    same = refused = different = 0
    whole = 0
    for path in files:
        source = path.read_text()
        beside = path.with_suffix(".json")
        extra = json.loads(beside.read_text()) if beside.exists() else {}
        bad = 0
        for name, variables in conversations().items():
            variables = {**TOKENS, **variables, **extra}
            expected, error = by_jinja(env, source, variables)
            found, fault = llmc.render(source, variables)
            if expected == found:
                same += expected is not None
                refused += expected is None
                continue
            bad += 1
            if different + bad > arguments.show:
                continue
            print(f"--- {path.name}, {name}")
            if error or fault:
                print(f"  Jinja2: {error or 'rendered'}\n  llmc:   {fault or 'rendered'}")
            else:
                print("\n".join(difflib.unified_diff(
                    expected.splitlines(), found.splitlines(), "Jinja2", "llmc", lineterm="", n=1)))
        whole += bad == 0
        different += bad
        print(f"{path.name}: {'equal' if not bad else f'{bad} different'}")
    print(f"{whole} of {len(files)} templates equal; {same} texts equal, {refused} refused by both, "
          f"{different} different")
    sys.exit(different != 0)


if __name__ == "__main__":
    main()
