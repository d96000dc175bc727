#!/usr/bin/env python3
"""The answer to one message, as it comes: generate.py ARTIFACT MESSAGE [MAX_TOKENS]

Needs nothing but Python and libllmc-runtime.so: the one that --library names, or the one of
the llmc on the path (PREFIX/bin/llmc has it in PREFIX/lib), or one that the system finds.
"""
import argparse
import ctypes
import shutil
import sys
from ctypes import (POINTER, Structure, byref, c_char_p, c_double, c_int32, c_int64, c_size_t,
                    c_uint32, c_uint64, c_void_p)
from pathlib import Path

ON_TEXT = ctypes.CFUNCTYPE(ctypes.c_int, c_void_p, POINTER(ctypes.c_char), c_size_t)


def find_library():
    program = shutil.which("llmc")
    if program:
        folder = Path(program).resolve().parent.parent / "lib"
        for found in [folder / "libllmc-runtime.so", *sorted(folder.glob("*/libllmc-runtime.so"))]:
            if found.is_file():
                return str(found)
    return "libllmc-runtime.so"


class GenerateOptions(Structure):
    """llmc_generate_options of llmc/Runtime/llmc.h."""
    _fields_ = [("size", c_uint32), ("ignore_end", c_int32), ("max_tokens", c_int64),
                ("temperature", c_double), ("top_p", c_double), ("min_p", c_double),
                ("repeat_penalty", c_double), ("top_k", c_int32), ("seed", c_uint64),
                ("stop", POINTER(c_char_p)), ("stop_count", c_size_t), ("on_text", ON_TEXT),
                ("user", c_void_p), ("logprobs", c_int32), ("prompt_logprobs", c_int32)]


class GenerateResult(Structure):
    """llmc_generate_result."""
    _fields_ = [("tokens", POINTER(c_int32)), ("token_count", c_size_t), ("text", c_char_p),
                ("finish", c_char_p), ("prompt_tokens", c_int64), ("decoded_tokens", c_int64),
                ("prefill_seconds", c_double), ("first_token_seconds", c_double),
                ("decode_seconds", c_double)]


class TokenProbability(Structure):
    """llmc_token_probability."""
    _fields_ = [("id", c_int32), ("logprob", c_double)]


class Runtime:
    """The library; every call that fails raises with the runtime's own message."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.llmc_error_message.restype = c_char_p

    def call(self, name, *arguments):
        if getattr(self.library, name)(*arguments) != 0:
            raise RuntimeError(self.library.llmc_error_message().decode())

    def open(self, folder):
        artifact = c_void_p()
        self.call("llmc_artifact_open", folder.encode(), c_uint32(0), byref(artifact))
        return artifact

    def chat_tokens(self, artifact, message):
        """Ids of a conversation of one message, by the model's chat template."""
        roles, contents = (c_char_p * 1)(b"user"), (c_char_p * 1)(message.encode())
        count = c_size_t(0)  # once for the number of tokens, once for the tokens
        ids = None
        for _ in range(2):
            self.call("llmc_artifact_apply_chat_template", artifact, roles, contents, c_size_t(1),
                      c_int32(1), ids, byref(count))
            ids = ids or (c_int32 * count.value)()
        return ids

    def text_tokens(self, artifact, text):
        """Ids of a text as it is, with what the model wants before every text."""
        encoded = text.encode()
        count, ids = c_size_t(0), None
        for _ in range(2):
            self.call("llmc_artifact_encode", artifact, encoded, c_size_t(len(encoded)),
                      c_int32(1), ids, byref(count))
            ids = ids or (c_int32 * count.value)()
        return ids

    def generator(self, artifact):
        session, generator = c_void_p(), c_void_p()
        self.call("llmc_session_create", artifact, None, byref(session))
        self.call("llmc_generator_create", session, byref(generator))
        return session, generator

    def run(self, generator, prompt, max_tokens, show, logprobs=-1):
        options, result = GenerateOptions(), GenerateResult()
        self.library.llmc_generate_options_init(byref(options))
        options.max_tokens, options.logprobs = max_tokens, logprobs
        options.on_text = ON_TEXT(lambda user, text, size: show(ctypes.string_at(text, size)))
        self.call("llmc_generator_run", generator, prompt, c_size_t(len(prompt)), byref(options),
                  byref(result))
        return result

    def score(self, generator, index):
        token, count = TokenProbability(), c_size_t(0)
        self.call("llmc_generator_score", generator, c_int32(0), c_size_t(index), byref(token),
                  None, byref(count))
        return token.id, token.logprob


def main():
    parser = argparse.ArgumentParser(description="The answer to one message, as it comes.")
    parser.add_argument("artifact", help="folder that llmc-opt wrote")
    parser.add_argument("message", help="what the user says, or with --raw the text to go on with")
    parser.add_argument("max_tokens", nargs="?", type=int, default=512,
                        help="most tokens of the answer (default: 512)")
    parser.add_argument("--raw", action="store_true",
                        help="take the message as it is, without the model's chat template")
    parser.add_argument("--library", metavar="FILE",
                        help="libllmc-runtime.so (default: that of the llmc on the path, else the "
                             "system's)")
    parser.add_argument("--logprobs", action="store_true",
                        help="print id and log probability of every token on standard error")
    arguments = parser.parse_args()
    runtime = Runtime(arguments.library or find_library())
    artifact = runtime.open(arguments.artifact)
    encode = runtime.text_tokens if arguments.raw else runtime.chat_tokens
    prompt = encode(artifact, arguments.message)
    session, generator = runtime.generator(artifact)

    def show(text):
        sys.stdout.buffer.write(text)
        sys.stdout.buffer.flush()
        return 0  # not zero ends the answer

    result = runtime.run(generator, prompt, arguments.max_tokens, show,
                         0 if arguments.logprobs else -1)
    print()
    print(f"{result.token_count} tokens, ended by {result.finish.decode()}", file=sys.stderr)
    for index in range(result.token_count if arguments.logprobs else 0):
        print("%d %.6f" % runtime.score(generator, index), file=sys.stderr)
    runtime.library.llmc_generator_destroy(generator)
    runtime.library.llmc_session_destroy(session)
    runtime.library.llmc_artifact_close(artifact)


if __name__ == "__main__":
    try:
        main()
    except (RuntimeError, OSError) as error:
        sys.exit(f"generate.py: {error}")
