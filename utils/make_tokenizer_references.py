#!/usr/bin/env python3
"""Token ids and texts as the published libraries give them, for unittests/Runtime/Tokenizer.

    utils/make_tokenizer_references.py [--out DIR] [--seed N] [--count N] [--full-nfkc]
                                       [--gguf NAME=FILE ...]

Needs the packages tokenizers and sentencepiece (and gguf for --gguf); the tests need none of
them. Without options it writes again what is committed in unittests/Runtime/Tokenizer/Data. With
another folder, seed or count (and --full-nfkc: the complete nmt_nfkc table, 240 KB) it makes a
larger comparison, which the test reads where LLMC_TEST_TOKENIZER_DATA names the folder.

Files: strings.bin has for each string u8 1 where it is UTF-8, u16 bytes, the bytes. NAME.ids has
for each string the number of ids plus two and the ids as varints, then the CRC-32 of the decoded
text; or a 0 where all of this is as in the case that is named as its base; or, to keep the files
small, a 1 and the CRC-32 of the ids as i32 instead of the ids. Strings that are no UTF-8 are left
out where the library takes text only. cases.json says what tokenizer each NAME is of.
"""
import argparse
import base64
import collections
import io
import json
import os
import random
import struct
import unicodedata
import zlib

import sentencepiece
import tokenizers

# Ranges of letters, some words long, of scripts with and without case, marks and spaces.
SCRIPTS = {
    "latin": (0x61, 0x7A), "latin1": (0xE0, 0xFF), "extended": (0x100, 0x17F), "greek": (0x3B1, 0x3C9),
    "cyrillic": (0x430, 0x44F), "armenian": (0x561, 0x586), "hebrew": (0x5D0, 0x5EA), "arabic": (0x620, 0x64A),
    "devanagari": (0x905, 0x94D), "bengali": (0x985, 0x9B9), "tamil": (0xB85, 0xBB9), "thai": (0xE01, 0xE3A),
    "tibetan": (0xF40, 0xF6C), "georgian": (0x10D0, 0x10F0), "hangul": (0xAC00, 0xACFF), "jamo": (0x1100, 0x11C2),
    "hiragana": (0x3041, 0x3096), "katakana": (0x30A1, 0x30FA), "han": (0x4E00, 0x4F00), "ethiopic": (0x1200, 0x1248),
    "khmer": (0x1780, 0x17B3), "vietnamese": (0x1EA0, 0x1EF9), "fullwidth": (0xFF21, 0xFF5A),
    "halfwidth": (0xFF66, 0xFF9F), "math": (0x1D400, 0x1D454), "gothic": (0x10330, 0x10340), "marks": (0x300, 0x330),
}
WORDS = """the of and to in is that it was for on are as with his they be at one have this from or had by hot
but some what there we can out other were all your when up use word how said an each she which do their time if
will way about many then them would write like so these her long make thing see him two has look more day could
go come did my sound no most number who over know water than call first people may down side been now find
über straße naïve café œuvre señor façade Ångström coöperate don't I'll we've it's HE'S İstanbul ﬁne ½ Ⅳ""".split()
CODE = """def f(x):\n    return x + 1\n|for (int i = 0; i < n; ++i) {\n\ta[i] = b[i] * 2;\n}|if x != None and y >= 3.14e-10:
|#include <vector>|SELECT * FROM t WHERE a = 'b';|{"key": [1, 2, {"x": null}]}|https://example.org/a/b?c=d&e=%20f
|<div class="a">text</div>|git commit -m "it's done"|$HOME/.bashrc && echo "${x}"|a->b::c<T>() /* no */|x = y ? 1 : -2; // ok
|\\begin{equation} e^{i\\pi}+1=0 \\end{equation}|@decorator\nclass A(B):\n        pass\n\n\n|0xFF 0b101 1_000_000 1e5""".split("|")
SPACES = [" ", "  ", "   ", "\t", "\n", "\r\n", "\n\n", "\v", "\f", "\u00a0", "\u1680", "\u2003", "\u200b", "\u2028",
          "\u2029", "\u202f", "\u205f", "\u3000", "\u180e", "\ufeff", "\x85", "        ", "\n\n\n\n", " \n \n"]
EMOJI = ["😀", "👍🏽", "👨‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪🇫🇷", "1️⃣", "❤️", "☃", "🧑🏿‍🚀", "🫠", "©️", "⏰", "🀄", "🇺", "‍", "🏽"]
ODD = ["▁", "▁▁", "Ġ", "Ċ", "<0x41>", "<0xC3>", "<s>", "</s>", "<unk>", "<|im_end|>", "<tool>", " <L>", "<R>  ",
       "[WORD]", "x[WORD]", "[WORD].", "E\u0301clair", "\u00c9clair", "É", "e\u0301", "n\u0303", "\u212b", "A\u030a", "o\u0332\u0308", "ﬀ", "ㅎㅏㄴ", "\u1100\u1161\u11a8",
       "が", "か\u3099", "①", "㍿", "ﷺ", "ℌ", "\u017f", "\u212a", "'\u017f", "'\u212a", "ẞ", "ǆ", "…", "„“", "«»", "¿¡", "—", "–", "′″", "\u0345",
       "\u0f77", "\ufffd", "\ue000", "\U000e0041", "\x00", "\x01\x02", "\x1b[0m", "\x7f", "\x80", "\x9f", "\u00ad",
       "\u2060", "\u202e", "\u0300", "\u20dd", "Ⓐ", "ⅳ", "²³", "¼", "٣٤", "१२", "𝟘𝟙", "१", "௧", "_a_b", "a‿b", "a\u200cb",
       "a\u200db", "!", "?!", "...", "!!!\n", "$100", "€5", "`~^|+=<>", "#$%&", "(a)", "[b]", "{c}", "'s", "'LL", "’s",
       "nn", "aaaaaaaaaaaaaaaaaaaa", "========", "-----", "////", "ABCDEFG", "camelCaseWord", "HTTPServer", "<sentinel:7>"]


def letters(rng, count):
    low, high = SCRIPTS[rng.choice(list(SCRIPTS))]
    # A few letters of a script come often, as they do in a language.
    return "".join(chr(low + int((high - low + 1) * rng.random() ** 2)) for _ in range(count))


def part(rng):
    kind = rng.randrange(12)
    if kind < 3:
        return rng.choice(WORDS)
    if kind < 5:
        return letters(rng, rng.randint(1, 6))
    if kind == 5:
        return str(rng.randrange(10 ** rng.randint(1, 9)))
    if kind == 6:
        return rng.choice(EMOJI)
    if kind < 9:
        return rng.choice(ODD)
    if kind == 9:
        return rng.choice(WORDS).capitalize() if rng.random() < .5 else rng.choice(WORDS).upper()
    if kind == 10:
        return rng.choice(SPACES)
    one = chr(rng.choice([rng.randrange(0x20, 0x7F), rng.randrange(0xA0, 0x2000), rng.randrange(0x2000, 0x3100)]))
    # The libraries have their tables from different versions of Unicode: only what is old.
    return one if unicodedata.ucd_3_2_0.category(one) != "Cn" else "."


def assigned(text):
    return "".join(c for c in text if unicodedata.category(c) not in ("Cn", "Cs"))


def make_strings(seed, count):
    rng = random.Random(seed)
    texts = ["", " ", "  ", "\n", "a", " a", "a ", "  a  ", "\u3000a\u3000"] + CODE + SPACES + EMOJI + ODD + WORDS[:20]
    while len(texts) < count:
        glue = rng.choice(["", " ", " ", " ", None])
        parts = [part(rng) for _ in range(rng.randint(1, 4))]
        texts.append(assigned("".join(p + (rng.choice(SPACES) if glue is None else glue) for p in parts)))
    strings = [text.encode() for text in texts[:count]]
    for _ in range(count // 8):  # bytes that are no UTF-8
        data = bytearray(rng.choice(strings[40:]))
        for _ in range(rng.randint(1, 3)):
            at = rng.randint(0, len(data))
            data[at:at + rng.randint(0, 1)] = rng.choice(
                [b"\xff", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\x80", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf5", b"\xe2(\xa1"])
        strings.append(bytes(data))
    return strings


def corpus(seed):
    rng = random.Random(seed + 1)
    vocabulary = WORDS + [letters(rng, rng.randint(2, 7)) for _ in range(900)]
    weights = [1 / (i + 5) for i in range(len(vocabulary))]
    lines = [" ".join(rng.choices(vocabulary, weights, k=rng.randint(3, 14))) for _ in range(4000)]
    lines += [code.replace("\n", " ") for code in CODE] * 30
    lines += ["".join(rng.choices("0123456789", k=5)) + rng.choice([".", "!", ", ", "…"]) for _ in range(400)]
    return lines


def is_text(data):
    try:
        data.decode()
        return True
    except UnicodeDecodeError:
        return False


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


class Writer:
    def __init__(self, folder, strings):
        self.folder, self.strings, self.cases, self.results = folder, strings, [], {}

    def file(self, name, data):
        with open(os.path.join(self.folder, name), "wb") as out:
            out.write(data if isinstance(data, bytes) else data.encode())

    def case(self, name, encode, decode, takes_bytes, like=None, full=False, **about):
        results, records = [], []
        for data in self.strings:
            if not is_text(data) and not takes_bytes:
                continue
            ids = encode(data if takes_bytes else data.decode())
            results.append((ids, decode(ids)))
            listed = varint(len(ids) + 2) + b"".join(map(varint, ids))
            summed = b"\1" + struct.pack("<I", zlib.crc32(struct.pack("<%di" % len(ids), *ids)))
            records.append((listed if full else min(listed, summed, key=len)) +
                           struct.pack("<I", zlib.crc32(results[-1][1].encode())))
        self.results[name] = results
        if like:
            records = [b"\0" if mine == other else record
                       for mine, other, record in zip(results, self.results[like], records)]
        self.file(name + ".ids", b"".join(records))
        self.cases.append({"name": name, "bytes": takes_bytes, "base": like or "", **about})


def added(content, special=False, **more):
    return {"content": content, "special": special, "lstrip": False, "rstrip": False, "single_word": False,
            "normalized": not special, **more}


def with_added(model, tokens):
    """Ids after the vocabulary, or the place in it."""
    entries = model["vocab"]
    ids = dict(entries) if isinstance(entries, dict) else {piece: i for i, (piece, _) in enumerate(entries)}
    result, after = [], max(ids.values()) + 1
    for token in tokens:
        if token["content"] in ids:
            identifier = ids[token["content"]]
        else:
            identifier, after = after, after + 1
        result.append({"id": identifier, **token})
    return result


SPECIAL = [added("<s>", True), added("</s>", True), added("<|im_end|>", True), added("<tool>", normalized=False),
           added("<L>", normalized=False, lstrip=True), added("<R>", normalized=False, rstrip=True),
           added("[WORD]", normalized=False, single_word=True), added("\u00c9clair")]
SPLIT = {"type": "Split", "behavior": "Isolated", "invert": False}


def regex(pattern, **more):
    return {**SPLIT, "pattern": {"Regex": pattern}, **more}


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
WORD = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+"
PRE = {  # name of the pre-tokenizer in GGUF: the published members of tokenizer.json
    "gpt-2": {"pre_tokenizer": {**BYTE_LEVEL, "use_regex": True}},
    "llama-bpe": {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
        regex(WORD + r"|\p{N}{1,3}|" + REST), BYTE_LEVEL]}, "ignore_merges": True},
    "qwen2": {"normalizer": {"type": "NFC"}, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
        regex(WORD + r"|\p{N}|" + REST), BYTE_LEVEL]}},
    "smollm": {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
        {"type": "Digits", "individual_digits": True}, {**BYTE_LEVEL, "use_regex": True}]}},
    "deepseek-v3": {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
        regex(r"\p{N}{1,3}"), regex("[一-龥぀-ゟ゠-ヿ]+"),
        regex(r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""),
        BYTE_LEVEL]}},
    "deepseek-coder": {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
        regex(r"[\r\n]"), regex(r"\s?\p{L}+"), regex(r"\s?\p{P}+"), regex("[一-龥ࠀ-一가-퟿]+"),
        {"type": "Digits", "individual_digits": True}, BYTE_LEVEL]}},
    "tekken": {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
        regex(r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"),
        BYTE_LEVEL]}, "ignore_merges": True},
    # No published family; what else tokenizer.json may say.
    "": {"normalizer": {"type": "Sequence", "normalizers": [
        {"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}, {"type": "Strip", "strip_left": True, "strip_right": True},
        {"type": "Replace", "pattern": {"Regex": r"\d{2,3}+"}, "content": "#"}]},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Punctuation", "behavior": "MergedWithNext"}, regex(r"\w\b", behavior="MergedWithPrevious"),
            regex("[a-m&&[^aeiou]]", behavior="Contiguous"), {"type": "Whitespace"},
            {**BYTE_LEVEL, "add_prefix_space": True}]}},
}


def byte_level(writer, lines):
    trained = tokenizers.Tokenizer(tokenizers.models.BPE())
    trained.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trained.train_from_iterator(lines, tokenizers.trainers.BpeTrainer(
        vocab_size=1100, show_progress=False, initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet()))
    model = json.loads(trained.to_str())["model"]
    base = {"version": "1.0", "model": model, "added_tokens": with_added(model, SPECIAL), "normalizer": None,
            "post_processor": {"type": "TemplateProcessing", "single": [
                {"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                "pair": [], "special_tokens": {"<s>": {"id": "<s>", "ids": [max(model["vocab"].values()) + 1], "tokens": ["<s>"]}}},
            "decoder": {**BYTE_LEVEL}}
    writer.file("byte-level.json", json.dumps(base, ensure_ascii=False))
    for pre, members in PRE.items():
        overlay = dict(members)
        overlay_model = {"ignore_merges": overlay.pop("ignore_merges")} if "ignore_merges" in overlay else {}
        huggingface(writer, "byte-level-" + (pre or "other"), "byte-level.json", base, overlay, overlay_model, gguf_pre=pre,
                    full=pre == "gpt-2", like=None if pre == "gpt-2" else "byte-level-gpt-2")


def huggingface(writer, name, file, base, overlay, overlay_model=None, **about):
    whole = {**base, **overlay, "model": {**base["model"], **(overlay_model or {})}}
    library = tokenizers.Tokenizer.from_str(json.dumps(whole))
    writer.case(name, lambda text: library.encode(text).ids, lambda ids: library.decode(ids, skip_special_tokens=True),
                False, file=file, overlay=overlay, overlay_model=overlay_model or {}, **about)


def sequence(key, *members):
    return {"type": "Sequence", key: list(members)}


SPACE_TO_MARK = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
MARK_TO_SPACE = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}


def character_bpe(writer, lines):
    trained = tokenizers.Tokenizer(tokenizers.models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    trained.normalizer = tokenizers.normalizers.Sequence([
        tokenizers.normalizers.Prepend("▁"), tokenizers.normalizers.Replace(" ", "▁")])
    trained.pre_tokenizer = tokenizers.pre_tokenizers.Split("▁", "merged_with_next")
    bytes_ = ["<0x%02X>" % i for i in range(256)]
    # The trainer breaks ties of the alphabet by chance, so it is given.
    counts = collections.Counter(c for line in lines for c in line.replace(" ", "▁"))
    alphabet = sorted(counts, key=lambda c: (-counts[c], c))[:500]
    trained.train_from_iterator(lines, tokenizers.trainers.BpeTrainer(
        vocab_size=1500, show_progress=False, limit_alphabet=500, initial_alphabet=alphabet, special_tokens=["<unk>", "<s>", "</s>"] + bytes_))
    model = json.loads(trained.to_str())["model"]
    tokens = with_added(model, [added("<unk>", True)] + SPECIAL)
    base = {"version": "1.0", "model": model, "added_tokens": tokens, "normalizer": None, "pre_tokenizer": None,
            "post_processor": None, "decoder": None}
    writer.file("character-bpe.json", json.dumps(base, ensure_ascii=False))
    fallback = [MARK_TO_SPACE, {"type": "ByteFallback"}, {"type": "Fuse"}]
    strip = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
    huggingface(writer, "character-bpe-llama2", "character-bpe.json", base, {
        "normalizer": sequence("normalizers", {"type": "Prepend", "prepend": "▁"}, SPACE_TO_MARK),
        "decoder": sequence("decoders", *fallback, strip)}, full=True)
    huggingface(writer, "character-bpe-llama2-first", "character-bpe.json", base, {
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False},
        "decoder": sequence("decoders", *fallback, strip)}, like="character-bpe-llama2")
    huggingface(writer, "character-bpe-gemma", "character-bpe.json", base, {
        "normalizer": SPACE_TO_MARK, "pre_tokenizer": {**SPLIT, "pattern": {"String": " "}, "behavior": "MergedWithPrevious"},
        "decoder": sequence("decoders", *fallback)}, like="character-bpe-llama2")
    huggingface(writer, "character-bpe-unknown", "character-bpe.json", base, {
        "normalizer": sequence("normalizers", {"type": "NFKC"}, {"type": "Nmt"}),
        "pre_tokenizer": sequence("pretokenizers", {"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": "▁"})},
        {"byte_fallback": False, "fuse_unk": False}, like="character-bpe-llama2")


RULES = [("Ａ", "A"), ("Ｂ", "B"), ("ａ", "a"), ("ｂ", "b"), ("！", "!"), ("\u3000", " "), ("\t", " "), ("\n", " "), ("\r", " "),
         ("\u00a0", " "), ("\u200b", ""), ("\u200d", ""), ("\x01", ""), ("\x7f", ""), ("\x1b", ""), ("…", "..."), ("½", "1⁄2"), ("ﬁ", "fi"),
         ("ﬀ", "ff"), ("Ⅳ", "IV"), ("①", "1"), ("か\u3099", "が"), ("E\u0301", "É"), ("e\u0301", "é"), ("ﷺ", "صلى الله عليه وسلم"),
         ("ſ", "s"), ("\u212a", "K"), ("㍿", "株式会社"), ("\u2028", " "), ("\ufeff", ""), ("𝐀", "A"), ("ｶ", "カ"), ("ｶﾞ", "ガ")]


def sentencepiece_models(writer, lines, full_nfkc):
    tsv = os.path.join(writer.folder, "rules.tsv")
    with open(tsv, "w") as out:
        for source, target in RULES:
            out.write(" ".join("%X" % ord(c) for c in source) + "\t" + " ".join("%X" % ord(c) for c in target) + "\n")
    table = {"normalization_rule_name": "nmt_nfkc"} if full_nfkc else {"normalization_rule_tsv": tsv}
    options = {
        "sentencepiece-bpe-gemma": dict(model_type="bpe", byte_fallback=True, add_dummy_prefix=False, remove_extra_whitespaces=False,
            split_digits=True, normalization_rule_name="identity", user_defined_symbols=["<tool>", "\n", "\n\n", "▁▁", "\t", "[WORD]"]),
        "sentencepiece-bpe-llama": dict(model_type="bpe", byte_fallback=True, remove_extra_whitespaces=False, split_digits=True,
            normalization_rule_name="identity", allow_whitespace_only_pieces=True),
        "sentencepiece-bpe-nfkc": dict(model_type="bpe", **table),
        "sentencepiece-unigram-t5": dict(model_type="unigram", bos_id=-1, pad_id=0, eos_id=1, unk_id=2, **table),
        "sentencepiece-unigram-suffix": dict(model_type="unigram", byte_fallback=True, treat_whitespace_as_suffix=True,
            user_defined_symbols=["<tool>", "the", "▁▁"], **table),
    }
    for name, more in options.items():
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=model, vocab_size=1500,
                                                 character_coverage=0.98, hard_vocab_limit=False, minloglevel=2,
                                                 num_threads=1, **more)
        sentencepiece_case(writer, name, model.getvalue())
    os.remove(tsv)


def sentencepiece_case(writer, name, model):
    library = sentencepiece.SentencePieceProcessor(model_proto=model)
    writer.file(name + ".model", model)
    writer.case(name, lambda data: library.encode(data), lambda ids: library.decode(ids), True, file=name + ".model",
                full=name == "sentencepiece-bpe-gemma")


def fields_of(message):
    """Number and value of the fields of a serialised message."""
    at = 0

    def read():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
    while at < len(message):
        key = read()
        if key & 7 == 2:
            size = read()
            yield key >> 3, message[at:at + size]
            at += size
        elif key & 7 == 0:
            yield key >> 3, read()
        else:
            size = {1: 8, 5: 4}[key & 7]
            yield key >> 3, message[at:at + size]
            at += size


def unigram(writer, model_file):
    """The pieces of a SentencePiece model as Hugging Face's library runs them."""
    proto = open(os.path.join(writer.folder, model_file), "rb").read()
    library = sentencepiece.SentencePieceProcessor(model_proto=proto)
    charsmap = next(value for number, value in fields_of(next(
        value for number, value in fields_of(proto) if number == 3)) if number == 2)
    vocab = [[library.id_to_piece(i), round(library.get_score(i), 6)] for i in range(len(library))]
    model = {"type": "Unigram", "unk_id": 2, "vocab": vocab, "byte_fallback": False}
    tokens = with_added(model, [added("<pad>", True), added("</s>", True), added("<unk>", True), added("<tool>", normalized=False)])
    template = {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
                "pair": [], "special_tokens": {"</s>": {"id": "</s>", "ids": [1], "tokens": ["</s>"]}}}
    base = {"version": "1.0", "model": model, "added_tokens": tokens, "normalizer": None, "pre_tokenizer": None,
            "post_processor": template, "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}}
    writer.file("unigram.json", json.dumps(base, ensure_ascii=False))
    precompiled = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode()}
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    huggingface(writer, "unigram-t5", "unigram.json", base, {"normalizer": precompiled, "pre_tokenizer": sequence(
        "pretokenizers", {"type": "WhitespaceSplit"}, metaspace)}, full=True)
    huggingface(writer, "unigram-albert", "unigram.json", base, {"normalizer": sequence(
        "normalizers", {"type": "Replace", "pattern": {"String": "``"}, "content": '"'}, {"type": "NFKD"}, {"type": "StripAccents"},
        {"type": "Lowercase"}, precompiled, {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}),
        "pre_tokenizer": {**metaspace, "prepend_scheme": "first", "split": False}}, like="unigram-t5")


def from_gguf(path):
    """A SentencePiece model of the tokenizer in a GGUF file; None for another kind."""
    import gguf
    fields = gguf.GGUFReader(path).fields
    get = lambda key, default=None: fields["tokenizer.ggml." + key].contents() if "tokenizer.ggml." + key in fields else default
    if get("model") != "llama":
        return None, get
    field = lambda number, value: varint(number << 3 | 2) + varint(len(value)) + value
    number = lambda key, value: varint(key << 3) + varint(int(value))
    # Converters write the spaces of user-defined pieces as such.
    proto = b"".join(field(1, field(1, (text.replace(" ", "▁") if kind == 4 else text).encode()) + varint(2 << 3 | 5) + struct.pack("<f", score) + number(3, kind))
                     for text, score, kind in zip(get("tokens"), get("scores"), get("token_type")))
    proto += field(2, number(3, 2) + number(35, 6 in get("token_type")) + number(40, get("unknown_token_id", 0)))
    return proto + field(3, number(3, get("add_space_prefix", True)) + number(4, get("remove_extra_whitespaces", False))), get


def gguf_case(writer, name, path):
    model, get = from_gguf(path)
    if model:
        library = sentencepiece.SentencePieceProcessor(model_proto=model)
        writer.case(name, lambda data: library.encode(data), lambda ids: library.decode(ids), True, gguf=os.path.basename(path))
        return
    # Byte-level: the published members of tokenizer.json for its pre-tokenizer.
    members = dict(PRE[get("pre")])
    types = get("token_type")
    whole = {"version": "1.0", "added_tokens": [], "post_processor": None, "decoder": BYTE_LEVEL, "normalizer": None,
             "model": {"type": "BPE", "vocab": {t: i for i, t in enumerate(get("tokens"))},
                       "merges": [m.split(" ") for m in get("merges")], "ignore_merges": members.pop("ignore_merges", False)}, **members}
    whole["added_tokens"] = [{"id": i, **added(t, kind != 4, normalized=False)}
                             for i, (t, kind) in enumerate(zip(get("tokens"), types)) if kind in (2, 3, 4)]
    library = tokenizers.Tokenizer.from_str(json.dumps(whole))
    writer.case(name, lambda text: library.encode(text).ids, lambda ids: library.decode(ids, skip_special_tokens=True), False,
                gguf=os.path.basename(path))


def main():
    data = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "unittests", "Runtime", "Tokenizer", "Data")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default=data)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--full-nfkc", action="store_true")
    parser.add_argument("--gguf", action="append", default=[], metavar="NAME=FILE")
    arguments = parser.parse_args()
    os.makedirs(arguments.out, exist_ok=True)
    strings = make_strings(arguments.seed, arguments.count)
    writer = Writer(arguments.out, strings)
    writer.file("strings.bin", b"".join(struct.pack("<BH", is_text(s), len(s)) + s for s in strings))
    lines = corpus(1)
    byte_level(writer, lines)
    character_bpe(writer, lines)
    sentencepiece_models(writer, lines, arguments.full_nfkc)
    unigram(writer, "sentencepiece-unigram-t5.model")
    for item in arguments.gguf:
        gguf_case(writer, *item.split("=", 1))
    writer.file("cases.json", json.dumps(writer.cases, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    main()
