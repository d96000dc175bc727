"""Makes a folder that `llmc run` can answer with: the llama golden and a tokenizer of its 131 tokens.

usage: text_model.py FOLDER [--no-template] [--bos]

Byte-level BPE over printable ASCII, space and newline. Words that are not merged are spelled.
With --bos, <s> stands before every text.
"""
import json
import shutil
import sys
from pathlib import Path

GOLDEN = Path(__file__).parent / "goldens" / "llama"
VOCABULARY = 131
SPECIAL = ["<pad>", "<s>", "</s>", "<|user|>", "<|assistant|>"]
SPACE, NEWLINE = "\u0120", "\u010a"  # how the byte-level alphabet writes them
WORDS = ["the", "he", "in", "er", "an", "re", "on", "at", "en", "nd", "is", "or", "it", "ar",
         "te", "es", "ou", "to", "of", "ed", "al", "st", "as", "ng", "le", "se"]
# What puts <s> before every text.
BEGIN = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                                                  {"Sequence": {"id": "A", "type_id": 0}}],
         "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
         "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}}
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'system' %}"
    "[{{ message['content'] }}]{% else %}<|{{ message['role'] }}|>{{ message['content'] }}"
    "{{ eos_token }}{% endif %}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def tokenizer():
    tokens = SPECIAL + [chr(c) for c in range(33, 127)] + [SPACE, NEWLINE]
    merges = []
    for word in WORDS:
        # Each word by its first letters, which have to be a token by then.
        left, right = (word[:1], word[1:])
        if right in tokens and left in tokens and word not in tokens:
            merges.append([left, right])
            tokens.append(word)
    for letter in "tasiwobcfhmpdlgnrye":
        merges.append([SPACE, letter])
        tokens.append(SPACE + letter)
    tokens = tokens[:VOCABULARY]
    merges = [pair for pair in merges if "".join(pair) in tokens]
    assert len(tokens) == len(set(tokens)) == VOCABULARY
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [
            {"id": i, "content": token, "single_word": False, "lstrip": False, "rstrip": False,
             "normalized": False, "special": True} for i, token in enumerate(SPECIAL)],
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
                          "use_regex": True},
        "post_processor": BEGIN if "--bos" in sys.argv else None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True,
                    "use_regex": True},
        "model": {"type": "BPE", "dropout": None, "unk_token": None,
                  "continuing_subword_prefix": None, "end_of_word_suffix": None,
                  "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                  "vocab": {token: i for i, token in enumerate(tokens)}, "merges": merges},
    }


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True)
    for name in ("config.json", "model.safetensors"):
        shutil.copyfile(GOLDEN / name, folder / name)
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>",
              "eos_token": "</s>", "pad_token": "<pad>", "model_max_length": 256}
    if "--no-template" not in sys.argv:
        config["chat_template"] = TEMPLATE
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer(), ensure_ascii=False))
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


main()
