"""Writes first inputs for every fuzz target: make_seeds.py FOLDER

Small files of every kind that a reader knows. scripts/fuzz.sh minimise reduces
them, with what the fuzzers found, to the committed corpus.
"""
import json
import struct
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def safetensors():
    def file(header, data=b""):
        text = json.dumps(header).encode() if not isinstance(header, bytes) else header
        return struct.pack("<Q", len(text)) + text + data

    sizes = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1, "I64": 8,
             "U8": 1, "BOOL": 1, "F4": 1, "F6_E2M3": 1, "F8_E8M0": 1, "C64": 8}
    for dtype, size in sizes.items():
        yield dtype, file({"t": {"dtype": dtype, "shape": [2, 3], "data_offsets": [0, 6 * size]}},
                          bytes(range(6 * size)))
    yield "several", file(
        {"__metadata__": {"format": "pt"},
         "a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
         "b": {"dtype": "F16", "shape": [], "data_offsets": [8, 10]},
         "c": {"dtype": "U8", "shape": [0], "data_offsets": [10, 10]}}, bytes(10))
    yield "header-only", file({"a": {"dtype": "F32", "shape": [4, 4], "data_offsets": [0, 64]}})
    yield "hole", file({"a": {"dtype": "U8", "shape": [1], "data_offsets": [2, 3]}}, bytes(5))
    yield "padded", file(b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}      ', b"x")
    yield "index", json.dumps(
        {"metadata": {"total_size": 16},
         "weight_map": {"a.weight": "model-00001-of-00002.safetensors",
                        "b": "model-00002-of-00002.safetensors"}}).encode()


def gguf():
    def text(value):
        data = value.encode() if isinstance(value, str) else value
        return struct.pack("<Q", len(data)) + data

    formats = ["B", "b", "H", "h", "I", "i", "f", "?", None, None, "Q", "q", "d"]

    def value(kind, content):
        if kind == 8:
            return text(content)
        if kind == 9:
            element, items = content
            return struct.pack("<IQ", element, len(items)) + b"".join(value(element, i) for i in items)
        return struct.pack("<" + formats[kind], content)

    def file(pairs, tensors, version=3, alignment=32, tail=True):
        out = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(pairs))
        for key, kind, content in pairs:
            out += text(key) + struct.pack("<I", kind) + value(kind, content)
        data = b""
        for name, dims, kind, size in tensors:
            out += text(name) + struct.pack("<I", len(dims)) + struct.pack(f"<{len(dims)}Q", *dims)
            out += struct.pack("<IQ", kind, len(data))
            data += bytes(i * 7 % 256 for i in range(size)) + bytes(-size % alignment)
        return out + bytes(-len(out) % alignment) + (data if tail else b"")

    head = [("general.architecture", 8, "llama"), ("general.name", 8, "m")]
    scalars = [(f"x.{kind}", kind, content) for kind, content in
               [(0, 200), (1, -3), (2, 60000), (3, -3), (4, 70000), (5, -7), (6, 0.5), (7, True),
                (8, "text"), (10, 1 << 40), (11, -1), (12, 1e300)]]
    arrays = [(f"y.{kind}", 9, (kind, items)) for kind, items in
              [(4, [1, 2, 3]), (8, ["a", "bc", ""]), (6, [0.0, 1.5]), (7, [True, False]), (0, []),
               (9, [(4, [1]), (4, [])])]]
    tokenizer = [("tokenizer.ggml.model", 8, "gpt2"), ("tokenizer.ggml.pre", 8, "smollm"),
                 ("tokenizer.ggml.tokens", 9, (8, ["a", "b", "ab", "<s>"])),
                 ("tokenizer.ggml.scores", 9, (6, [0.0, -1.0, -2.0, 0.0])),
                 ("tokenizer.ggml.token_type", 9, (5, [1, 1, 1, 3])),
                 ("tokenizer.ggml.merges", 9, (8, ["a b"])),
                 ("tokenizer.ggml.bos_token_id", 4, 3), ("tokenizer.ggml.add_bos_token", 7, True),
                 ("tokenizer.chat_template", 8, "{{ bos_token }}")]
    yield "scalars", file(head + scalars, [])
    yield "arrays", file(head + arrays, [])
    yield "tokenizer", file(head + tokenizer, [])
    yield "version2", file(head, [("t", [4, 2], 0, 32)], version=2)
    yield "aligned", file(head + [("general.alignment", 4, 64)],
                          [("a", [8], 0, 32), ("b", [2, 2, 2], 1, 16)], alignment=64)
    yield "split", file(head + [("split.no", 2, 0), ("split.count", 2, 2),
                                ("split.tensors.count", 5, 1)], [("a", [8], 0, 32)])
    yield "cut", file(head, [("a", [8], 0, 32)], tail=False)
    # ggml type, elements and bytes of a block
    blocks = {0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34),
              10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210),
              15: (256, 292), 20: (32, 18), 23: (256, 136), 24: (1, 1), 26: (1, 4), 28: (1, 8),
              30: (1, 2), 39: (32, 17)}
    for kind, (elements, size) in blocks.items():
        yield f"type{kind}", file(head, [("t", [elements, 2], kind, 2 * size)])


def manifest():
    """As small as a manifest with everything in it can be: small inputs are many a second."""
    def read(kind, constant):
        return {"kind": kind, "access": "read", "bytes": constant}

    small = {
        "format": "llmc.manifest", "version": [4, 0], "digest": "0" * 64,
        "producer": {"name": "p", "version": "0"},
        "model": {"vocab_size": 4, "hidden_size": 2, "layers": 2, "context_length": 8},
        "target": {"device": "cpu"},
        "limits": {"max_tokens": 4, "max_sequences": 1, "max_context": 8, "block_tokens": 4, "blocks": 2},
        "files": [{"path": name, "bytes": size, "sha256": "a" * 64}
                  for name, size in [("kernels.so", 1), ("w.bin", 192)]],
        "arenas": [{"name": "w", "kind": "weights", "size": {"const": 192}, "file": "w.bin"},
                   {"name": "s", "kind": "state", "size": {"blocks": 128}},
                   {"name": "a", "kind": "activations", "size": {"const": 128, "outputs": 16}},
                   {"name": "t", "kind": "workspace", "size": {"threads": 64}}],
        "slices": [{"name": "x", "arena": "a", "offset": 0, "size": {"tokens": 8}, "live": [0, 2]},
                   {"name": "y", "arena": "a", "offset": 64, "size": {"outputs": 16}, "live": [2, 2]}],
        "weights": [{"name": "e", "arena": "w", "base": 0, "bytes": 64, "layers": [], "rows": 4,
                     "cols": 2, "storage": "f32", "layout": {"kind": "rows"},
                     "sources": [{"tensor": "e", "rows": 4}]},
                    {"name": "n", "arena": "w", "base": 64, "stride": 64, "bytes": 64,
                     "layers": [[0, 2]], "rows": 1, "cols": 2, "storage": "f32",
                     "layout": {"kind": "rows"}, "sources": [{"tensor": "n.{i}", "rows": 1}]}],
        "states": [{"name": "k", "arena": "s", "layers": [[0, 2]], "kind": "paged", "heads": 1,
                    "key_width": 2, "value_width": 2, "element": "f32", "bytes_per_block": 64}],
        "variants": [{"name": "v", "suffix": "", "requires": []}],
        "kernels": [
            {"name": "f", "symbol": "f", "scratch": 0, "tokens_below": 4, "positions_below": 8,
             "contracts": [{"items": {"factor": 1, "of": "tokens"}, "operands": [
                 read("weights", {"const": 64}), dict(read("slice", {"tokens": 8}), access="write")]}]},
            {"name": "g", "symbol": "g", "scratch": 8,
             "contracts": [{"items": {"factor": 2, "of": "tokens", "tile": 2, "plus": 1}, "operands": [
                 read("weights", {"const": 64}), dict(read("state", {"blocks": 64}), access="readwrite"),
                 dict(read("slice", {"tokens": 8}), access="readwrite")]}]},
            {"name": "h", "symbol": "h", "scratch": 0,
             "contracts": [{"items": {"factor": 1, "of": "outputs"}, "operands": [
                 read("slice", {"tokens": 8}), dict(read("slice", {"outputs": 16}), access="write")]}]}],
        "entries": [{
            "name": "m", "outputs": [{"name": "logits", "slice": "y", "rows": "outputs", "width": 4,
                                      "element": "f32"}],
            "steps": [
                {"launch": {"kernel": "f", "items": {"factor": 1, "of": "tokens"}, "operands": [
                    {"weights": "e", "access": "read"}, {"slice": "x", "access": "write"}]}},
                {"repeat": {"from": 0, "count": 2, "period": 1, "steps": [
                    {"launch": {"kernel": "g", "items": {"factor": 2, "of": "tokens", "tile": 2, "plus": 1},
                                "operands": [{"weights": "n", "access": "read", "layer": 0},
                                             {"state": "k", "access": "readwrite", "layer": 0},
                                             {"slice": "x", "access": "readwrite"}]}}]}},
                {"launch": {"kernel": "h", "items": {"factor": 1, "of": "outputs"}, "operands": [
                    {"slice": "x", "access": "read"}, {"slice": "y", "access": "write"}]}}]}]}

    def text(value):
        return json.dumps(value, separators=(",", ":"))

    def changed(change):
        copy = json.loads(json.dumps(small))
        change(copy)
        return text(copy)

    yield "small", text(small)

    def sources(m):
        m["limits"]["max_outputs"] = 2
        m["accepted"] = [{"key": "k", "value": "v"}]
        m["tokenizer"] = {"file": "w.bin"}
        m["weights"][0].update(layout={"kind": "panels", "tile": 1}, cols=1, interleave=2, sources=[
            {"zeros": True, "rows": 1}, {"values": [0.5], "rows": 1},
            {"tensor": "t", "rows": 2, "first_row": 4, "of_rows": 9, "transposed": True}])

    def slots(m):
        m["arenas"][1]["size"]["sequences"] = 128
        m["states"].append({"name": "r", "arena": "s", "layers": [[0, 2]], "kind": "recurrent", "heads": 1,
                            "key_width": 2, "value_width": 2, "element": "f32", "bytes_per_sequence": 64})
        items = {"factor": 1, "of": "sequences"}
        m["kernels"][1]["contracts"][0].update(items=items, operands=[
            dict(read("state", {"sequences": 64}), access="readwrite"),
            dict(read("slice", {"tokens": 8}), access="readwrite")])
        m["entries"][0]["steps"][1]["repeat"]["steps"][0]["launch"].update(items=items, operands=[
            {"state": "r", "access": "readwrite", "layer": 0}, {"slice": "x", "access": "readwrite"}])

    def ranks(m):
        del m["arenas"][0]["file"]
        m["arenas"][0]["rank_files"] = ["w.bin", "w.bin"]
        m["arenas"][2]["kind"] = "communication"
        m["ranks"] = {"count": 2, "groups": [{"name": "all", "ranks": [0, 1]}]}
        m["slices"][1]["live"] = [2, 4]
        m["slices"][0]["live"] = [0, 4]
        m["entries"][0]["steps"] += [
            {"collective": {"kind": "all_reduce", "slice": "y", "group": "all", "element": "f32",
                            "count": {"outputs": 4}}},
            {"observe": {"name": "o", "slice": "x", "rows": "tokens", "width": 2}}]

    def device(m):
        m["variants"] = []
        m["files"][0]["path"] = "ptx/k.ptx"
        for kernel in m["kernels"]:
            kernel["scratch"] = 0
            kernel["device"] = {"file": "ptx/k.ptx", "grid": [{"factor": 1, "of": "tokens"}],
                                "block": [128], "shared_bytes": 64}

    for change in (sources, slots, ranks, device):
        yield change.__name__, changed(change)


CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 16,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 4,
    "intermediate_size": 24, "vocab_size": 32, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
    "max_position_embeddings": 64, "hidden_act": "silu", "tie_word_embeddings": False,
    "attention_bias": False, "torch_dtype": "bfloat16"}


def description():
    scalings = [None, {"rope_type": "linear", "factor": 2.0},
                {"rope_type": "dynamic", "factor": 2.0},
                {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32},
                {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                 "high_freq_factor": 4.0, "original_max_position_embeddings": 32},
                {"rope_type": "longrope", "short_factor": [1.0, 1.0], "long_factor": [2.0, 3.0],
                 "original_max_position_embeddings": 32}]
    for i, scaling in enumerate(scalings):
        config = dict(CONFIG, rope_scaling=scaling)
        yield f"scaling{i}", '{"extends": "llama"}\0' + json.dumps(config)
    for path in sorted((ROOT / "models").glob("*.jsonc")):
        text = path.read_text()
        name = path.stem
        config = dict(CONFIG, model_type=name, architectures=[name], sliding_window=16,
                      layer_types=["sliding_attention", "full_attention"], query_pre_attn_scalar=4,
                      head_dim=4, n_embd=16, n_layer=2, n_head=4, n_positions=64)
        yield name, text + "\0" + json.dumps(config)
        yield name + "-extended", json.dumps({"extends": name}) + "\0" + json.dumps(config)
    yield "expressions", json.dumps({
        "extends": "llama",
        "params": {
            "a": "1 + 2 * 3 // 4 % 5 ** 2 - -1", "b": ["a > 1 ? [1, 2.5, 'x', true, null] : (a, b)", "list"],
            "c(i)": "i % 2 == 0 && !(i < 3) || contains([1], i)", "d": ["len(b) ?? 3", "int(1, 8)?"],
            "e": "min(max(abs(-2), floor(2.5)), ceil(1.5)) + int(2.0) + float(1)",
            "f": "sqrt(4) + log(2.0)", "g": "default(no_such_key, 7)", "h": "present(hidden_size)",
            "k": "index_of(['a', 'b'], 'b')", "l": "[c(0), c(1)][0]", "m": "a == 3 ? error('no') : 1"},
        "checks": [["a > 0", "a is {a}"]]}) + "\0" + json.dumps(CONFIG)


def inference():
    config = dict(CONFIG, model_type="unheard_of", architectures=["UnheardOfForCausalLM"])
    D, H, K, Dh, F, V = 16, 4, 2, 4, 24, 32

    def header(layer, outside=(), prefix="model."):
        shapes = {prefix + "embed_tokens.weight": [V, D], prefix + "norm.weight": [D],
                  "lm_head.weight": [V, D], **dict(outside)}
        for i in range(config["num_hidden_layers"]):
            for name, shape in layer.items():
                shapes[f"{prefix}layers.{i}.{name}"] = shape
        out, offset = {}, 0
        for name, shape in shapes.items():
            count = 2
            for size in shape:
                count *= size
            out[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [offset, offset + count]}
            offset += count
        return json.dumps(out)

    attention = {"self_attn.q_proj.weight": [H * Dh, D], "self_attn.k_proj.weight": [K * Dh, D],
                 "self_attn.v_proj.weight": [K * Dh, D], "self_attn.o_proj.weight": [D, H * Dh],
                 "input_layernorm.weight": [D], "post_attention_layernorm.weight": [D]}
    dense = {"mlp.gate_proj.weight": [F, D], "mlp.up_proj.weight": [F, D], "mlp.down_proj.weight": [D, F]}
    norms = {"self_attn.q_norm.weight": [Dh], "self_attn.k_norm.weight": [Dh]}
    experts = {"mlp.gate.weight": [4, D]}
    for e in range(4):
        experts |= {f"mlp.experts.{e}.gate_proj.weight": [F, D], f"mlp.experts.{e}.up_proj.weight": [F, D],
                    f"mlp.experts.{e}.down_proj.weight": [D, F]}
    yield "config", json.dumps(config) + "\0"
    yield "plain", json.dumps(config) + "\0" + header(attention | dense)
    yield "nested", json.dumps({"model_type": "wrapped", "text_config": config}) + "\0" + header(
        attention | dense, prefix="language_model.model.")
    yield "norms", json.dumps(config) + "\0" + header(attention | dense | norms)
    yield "biases", json.dumps(dict(config, attention_bias=True)) + "\0" + header(
        attention | dense | {f"self_attn.{p}_proj.bias": [n] for p, n in
                             (("q", H * Dh), ("k", K * Dh), ("v", K * Dh), ("o", D))})
    yield "experts", json.dumps(dict(config, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=F,
                                     norm_topk_prob=True)) + "\0" + header(attention | norms | experts)
    yield "capped", json.dumps(dict(config, attn_logit_softcapping=50.0, final_logit_softcapping=30.0,
                                    query_pre_attn_scalar=4, sliding_window=16)) + "\0" + header(
        attention | dense | {"pre_feedforward_layernorm.weight": [D], "post_feedforward_layernorm.weight": [D]})
    yield "unknown", json.dumps(dict(config, never_heard=3)) + "\0" + header(
        attention | dense | {"self_attn.odd.weight": [D, D]})


def paired():
    schemes = {
        "fp8_block": {"quant_method": "fp8", "weight_block_size": [2, 4], "fmt": "e4m3"},
        "fp8_tensor": {"quant_algo": "FP8", "kv_cache_quant_algo": None},
        "int8_channel": {"quant_method": "compressed-tensors", "format": "int-quantized"},
        "nvfp4_modelopt": {"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 16},
        "nvfp4_packed": {"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized"},
        "mxfp4_packed": {"quant_method": "compressed-tensors", "sparsity_config": {}},
        "mxfp4_experts": {"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]},
        "int4_packed": {"quant_method": "compressed-tensors", "config_groups": {
            "g": {"weights": {"num_bits": 4, "type": "int", "block_structure": None}}}},
        "awq": {"quant_method": "awq", "bits": 4, "version": "gemm", "zero_point": True},
        "gptq": {"quant_method": "gptq", "bits": 4, "checkpoint_format": "gptq_v2",
                 "desc_act": True}}
    folder = ROOT / "unittests" / "Frontend" / "Inputs" / "paired"
    for name, scheme in schemes.items():
        yield name, json.dumps(scheme).encode() + b"\0" + (folder / f"{name}.safetensors").read_bytes()
    index = b'{"a.weight":{"dtype":"F8_E4M3","shape":[4,4],"data_offsets":[0,16]}}'
    yield "alone", json.dumps(schemes["fp8_block"]).encode() + b"\0" + struct.pack("<Q", len(index)) + index


def target():
    base = {"name": "base", "about": "a chip", "memory": {"bytes": [8e10, "datasheet"],
            "bytes_per_second": [2.039e12, "datasheet"]}, "compute": {"bf16": [3.12e14, "datasheet"]},
            "links": {"bytes_per_second": [6e11, "datasheet"]}, "compiles_as": "cpu"}
    chip = {"name": "chip", "about": "another", "extends": "base", "operators": {
        "llm.linear": {"by": "library", "only": {"storage": ["f32", None, 3, True],
                                                 "in": {"min": 16, "max": 1e6, "multiple_of": 16}}},
        "llm.gate": {"by": "kernel"}}}
    yield "extended", json.dumps(chip) + "\0" + json.dumps(base)
    yield "alone", json.dumps(base) + "\0"
    silent = {"name": "c", "about": "a", "memory": "not stated", "compute": "not stated"}
    yield "not stated", json.dumps(dict(silent, operators=chip["operators"])) + "\0"
    every = {kind: [1e12, "x"] for kind in ("f64", "f32", "tf32", "f16", "bf16", "f8", "f6", "f4",
                                            "int8", "int4")}
    yield "every type", json.dumps(dict(base, compute=every)) + "\0"
    yield "no such storage", json.dumps(dict(silent, operators={
        "llm.linear": {"by": "x", "only": {"storage": ["q4_9"]}}})) + "\0"
    yield "circle", json.dumps(chip) + "\0" + json.dumps(dict(base, extends="chip"))


def kernel_library():
    full = {"kernels": {
        "norm": {"about": "a norm", "op": "llm.rms_norm", "object": "a.o", "symbol": "norm",
                 "only": {"storage": ["f32", None], "in": {"min": 16, "max": 64, "multiple_of": 16}},
                 "facts": ["in", "heads"], "scratch": {"bytes": 64, "in": 4, "heads": 8}},
        "own": {"op": "dyt", "object": "b.o", "symbol": "f", "scratch": 4096}}}
    small = {"kernels": {"first": {"op": "llm.linear", "object": "a.o", "symbol": "g",
                                   "facts": ["width"]}}}
    yield "full", json.dumps(full) + "\0"
    yield "two", json.dumps(small) + "\0" + json.dumps(full)
    yield "twice", json.dumps(full) + "\0" + json.dumps(full)
    yield "no object", json.dumps(small).replace("a.o", "c.o") + "\0"


def op_library():
    """What examples and tests have, and each kind of operation that a definition may hold."""
    for file in sorted(ROOT.glob("examples/*/*.mlir")) + [ROOT / "test/Reference/composite.mlir"]:
        text = file.read_text()
        if "llm.implements" in text:
            yield file.stem, text

    def definition(name, arguments, body, result, settings=""):
        return (f"func.func @{name}({arguments}) -> {result}\n    attributes "
                f"{{llm.implements = \"{name}\"{settings}}} {{\n{body}  return %r : {result}\n}}\n")

    row = "tensor<?x8xf32>"
    yield "joined", definition(
        "joined", f"%x: {row}, %y: {row}",
        f"  %a = llm.slice %x from 2 size 4 : {row} -> tensor<?x4xf32>\n"
        f"  %r = llm.concat %a, %y : tensor<?x4xf32>, {row} -> tensor<?x12xf32>\n",
        "tensor<?x12xf32>")
    yield "heads", definition(
        "heads", f"%x: {row}",
        f"  %a = llm.split_heads %x : {row} -> tensor<?x2x4xf32>\n"
        f"  %r = llm.merge_heads %a : tensor<?x2x4xf32> -> {row}\n", row)
    yield "product", definition(
        "product", f"%x: {row}, %w: !llm.weight<[16, 8], #llm.dense<bf16>>",
        f"  %r = llm.linear %x, %w : {row}, !llm.weight<[16, 8], #llm.dense<bf16>> -> "
        "tensor<?x16xf32>\n", "tensor<?x16xf32>")
    yield "settings", definition(
        "settings", f"%x: {row}",
        f"  %r = llm.scale %x by 0.5 {{llm.bind = {{factor = \"s\"}}}} : {row}\n", row,
        ", llm.settings = {s = 0.5}")


def catalogue():
    yield "rows", json.dumps({
        "about": "models", "columns": ["num_hidden_layers", "hidden_size"],
        "config": {"model_type": "llama", "vocab_size": 10, "rope_scaling": {"type": "linear"}},
        "models": {"Small": {"row": [2, 8], "parameters": 7},
                   "large": {"like": "Small", "row": [4, 16], "config": {"vocab_size": None}},
                   "long": {"like": "large", "config": {"rope_theta": 6.5}}}})


def tokenizer():
    bytes_of = [chr(c) for c in list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))]
    alphabet = bytes_of + [chr(256 + i) for i in range(256 - len(bytes_of))]
    small = alphabet[:40] + ["\u0120", "\u010a"]
    bpe = {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": 50, "content": "<s>", "single_word": False, "lstrip": False,
                          "rstrip": True, "normalized": False, "special": True}],
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": "\\p{N}| ?\\p{L}+|\\s+(?!\\S)|[^\\s]+"},
             "behavior": "Isolated", "invert": False},
            {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}]},
        "post_processor": {"type": "TemplateProcessing", "single": [
            {"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [], "special_tokens": {"<s>": {"id": "<s>", "ids": [50], "tokens": ["<s>"]}}},
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
                  "ignore_merges": False,
                  "vocab": {t: i for i, t in enumerate(small + ["!\"", "#$", "!\"#$"])},
                  "merges": [["!", "\""], ["#", "$"], ["!\"", "#$"]]}}
    config = {"bos_token": "<s>", "eos_token": {"content": "<s>"}, "add_bos_token": True,
              "chat_template": "{{ messages[0]['content'] }}"}
    words = "!\"#$ (hello) 12 <s>\n\u00e9"

    def hf(spec, settings=config, text=words):
        return "h" + json.dumps(spec) + "\0" + json.dumps(settings) + "\0" + text

    yield "bpe", hf(bpe)
    pieces = ["<unk>", "<s>", "</s>"] + [f"<0x{i:02X}>" for i in range(256)] + ["\u2581", "a", "b", "\u2581a", "ab"]
    sentence = dict(
        bpe, added_tokens=[], post_processor=None, pre_tokenizer=None,
        normalizer={"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "\u2581"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]},
        decoder={"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
            {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
        model=dict(bpe["model"], unk_token="<unk>", fuse_unk=True, byte_fallback=True,
                   vocab={t: i for i, t in enumerate(pieces)}, merges=["\u2581 a", "a b"]))
    yield "byte-fallback", hf(sentence, {}, "a ab b \u4e2d")
    unigram = dict(
        sentence, normalizer={"type": "Sequence", "normalizers": [
            {"type": "NFKC"}, {"type": "Lowercase"}, {"type": "StripAccents"}]},
        pre_tokenizer={"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True},
        decoder={"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True},
        model={"type": "Unigram", "unk_id": 0, "byte_fallback": True,
               "vocab": [[t, -0.5 * i] for i, t in enumerate(pieces)]})
    yield "unigram", hf(unigram, {}, "A \u00c1b ab")
    steps = [{"type": "Digits", "individual_digits": True}, {"type": "Punctuation", "behavior": "Isolated"},
             {"type": "WhitespaceSplit"}, {"type": "Whitespace"}, {"type": "BertPreTokenizer"},
             {"type": "UnicodeScripts"}, {"type": "CharDelimiterSplit", "delimiter": "-"}]
    for step in steps:
        yield "step-" + step["type"], hf(dict(bpe, pre_tokenizer={
            "type": "Sequence", "pretokenizers": [step, {"type": "ByteLevel", "add_prefix_space": True,
                                                         "trim_offsets": True, "use_regex": True}]}))

    def varint(n):
        out = b""
        while n > 127:
            out += bytes([n & 127 | 128])
            n >>= 7
        return out + bytes([n])

    def field(number, content):
        if isinstance(content, bytes):
            return varint(number << 3 | 2) + varint(len(content)) + content
        if isinstance(content, float):
            return varint(number << 3 | 5) + struct.pack("<f", content)
        return varint(number << 3) + varint(content)

    for kind, name in [(1, "unigram"), (2, "bpe")]:
        model = b""
        for i, piece in enumerate(pieces):
            what = 2 if i == 0 else 3 if i < 3 else 6 if i < 259 else 1
            model += field(1, field(1, piece.encode()) + field(2, -float(i)) + field(3, what))
        model += field(2, field(3, kind) + field(4, len(pieces)) + field(35, 1))
        model += field(3, field(1, b"identity") + field(3, 1) + field(4, 1) + field(5, 1))
        yield "sentencepiece-" + name, b"s" + model + b"\0a ab b"


def template():
    conversation = json.dumps([
        {"role": "system", "content": "be brief"}, {"role": "user", "content": "hi \u00e9"},
        {"role": "assistant", "content": "", "tool_calls": [
            {"type": "function", "function": {"name": "f", "arguments": {"x": 1, "y": [True, None, 1.5]}}}]},
        {"role": "tool", "name": "f", "content": "4"}])
    texts = [
        "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
        "{{ bos_token }}{%- if messages[0]['role'] == 'system' -%}{%- set system = messages[0]['content']|trim -%}{%- set rest = messages[1:] -%}{%- else -%}{%- set rest = messages -%}{%- endif -%}{%- for m in rest -%}{%- if (m['role'] == 'user') != (loop.index0 % 2 == 0) -%}{{ raise_exception('alternate') }}{%- endif -%}{{ loop.first }}{{ loop.last }}{{ m.content | upper }}{%- endfor -%}",
        "{%- macro f(x, y=2) -%}{{ x ~ y }}{%- endmacro -%}{{ f(1) }}{{ f(1, y=3) }}{% set ns = namespace(n=0) %}{% for i in range(5) %}{% set ns.n = ns.n + i %}{% if i == 3 %}{% break %}{% endif %}{% endfor %}{{ ns.n }}",
        "{{ messages | tojson(indent=2) }}{{ messages | map(attribute='role') | join(', ') }}{{ messages | selectattr('role', 'equalto', 'user') | list | length }}",
        "{% for m in messages if m.tool_calls is defined and m.tool_calls %}{% for t in m.tool_calls %}{{ t.function.name }}{% for k, v in t.function.arguments.items() %}{{ k }}={{ v }}{% endfor %}{% endfor %}{% else %}none{% endfor %}",
        "{{ 'a,b'.split(',')[-1] }}{{ ' x '.strip() }}{{ 'abc'.replace('b', 'd') }}{{ 'x'.startswith('x') }}{{ 'Title case'|title }}{{ [3,1,2]|sort|first }}{{ {'a': 1}.get('b', 2) }}{{ 'abc'[::-1] }}{{ [1,2,3][1:] }}",
        "{# comment #}{{ 1 if true else 2 }}{{ 7 // 2 }}{{ 7 % 3 }}{{ 2 ** 8 }}{{ -1 | abs }}{{ 'a' in 'abc' }}{{ not false and none is none }}{{ 1.0 / 3 | round(2) }}{{ strftime_now('%Y-%m-%d') }}",
        "{% set x %}block{{ 1 }}{% endset %}{{ x }}{% generation %}g{% endgeneration %}{% filter upper %}abc{% endfilter %}{% raw %}{{ raw }}{% endraw %}{{ '%s-%d' % ('a', 1) }}{{ 'a' * 3 }}{{ [0] * 3 }}",
    ]
    for i, text in enumerate(texts):
        yield f"chat{i}", text + "\0" + conversation
    yield "variables", "{{ a.b[0] }}{{ c }}" + "\0" + json.dumps({"a": {"b": ["x"]}, "c": 1e300})


def main():
    folder = Path(sys.argv[1])
    for make in (safetensors, paired, gguf, manifest, description, inference, target, kernel_library, op_library,
                 catalogue, tokenizer, template):
        seeds = folder / make.__name__.replace("_", "-")
        seeds.mkdir(parents=True, exist_ok=True)
        for name, content in make():
            (seeds / name).write_bytes(content if isinstance(content, bytes) else content.encode())


main()
