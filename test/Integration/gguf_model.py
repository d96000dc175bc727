"""Writes a folder (config.json, model.safetensors) as GGUF, the way converters do.

`convert` quantises the products' weights, keeps norms in f32, and changes what the family's
converter changes, such as the order of the rows of q and k. It also returns the weights as the file
holds them, dequantised, in the order of the checkpoint.
"""
import array
import json
import re
import struct

import gguf_blocks
import gguf_families
import tensors

TYPES = {"f32": 0, "f16": 1} | {name: row[0] for name, row in gguf_blocks.FORMATS.items()}
ALIGNMENT = 32
UINT32, FLOAT32, BOOL, STRING = 4, 6, 7, 8


def encode(values, kind):
    """(bytes, values that they stand for)"""
    if kind == "f32":
        return values.tobytes(), values
    if kind == "f16":
        data = struct.pack(f"<{len(values)}e", *values)
        return data, array.array("f", struct.unpack(f"<{len(values)}e", data))
    data, meant = bytearray(), array.array("f")
    _, size, block = gguf_blocks.FORMATS[kind]
    for start in range(0, len(values), size):
        bytes_, numbers = block(values[start : start + size])
        data += bytes_
        meant.extend(numbers)
    return bytes(data), meant


# ---- the order of rows

def permuted(rows, heads):
    """Row order of a converted q or k: from halves to neighbours, head by head."""
    size = rows // heads
    return [head * size + part * (size // 2) + i
            for head in range(heads) for i in range(size // 2) for part in range(2)]


def reorder(values, shape, order):
    width = shape[1]
    out = array.array("f")
    for row in order:
        out.extend(values[row * width : (row + 1) * width])
    return out


def stacked(weights):
    """The weights, with those of the experts of a layer one after another in one; and what each of these is made of."""
    out, members = {}, {}
    for name, (shape, values) in weights.items():
        found = re.fullmatch(r"(.*\.experts)\.\d+(\.\w+\.weight)", name)
        if not found:
            out[name] = (shape, values)
            continue
        whole = found[1] + found[2]
        members.setdefault(whole, []).append(name)
        count, all_of_them = len(members[whole]), out.get(whole, (None, array.array("f")))[1]
        out[whole] = ([count, *shape], all_of_them + values)
    return out, members


# ---- the file

def string(text):
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def pair(key, kind, value):
    codes = {FLOAT32: "<f", BOOL: "<B", UINT32: "<I"}
    packed = string(value) if kind == STRING else struct.pack(codes[kind], value)
    return string(key) + struct.pack("<I", kind) + packed


def typed_pair(key, value):
    kinds = {str: STRING, float: FLOAT32, bool: BOOL}
    kind = kinds.get(type(value), UINT32)
    return pair(key, kind, value)


def gguf_name(name, names):
    stem, ending = name.rsplit(".", 1)
    for outer in ("model.layers.", "transformer.h."):
        if stem.startswith(outer):
            layer, inner = stem[len(outer):].split(".", 1)
            if whole := names.get(f"{inner}.{ending}"):
                return f"blk.{layer}.{whole}"
            return f"blk.{layer}.{names[inner]}.{ending}"
    return f"{names[stem]}.{ending}"


def turned(shape, values):
    """A matrix transposed."""
    rows, width = shape
    out = array.array("f")
    for column in range(width):
        out.extend(values[column::width])
    return [width, rows], out


def convert(folder, output, kind, version=3, tables=None):
    """Writes `output`; returns the weights that it holds, under their checkpoint names.

    `kind` is the type of all matrices, or a function from their names to types. `tables` is the
    type of the embedding and the head where it is not `kind`.
    """
    config = json.loads((folder / "config.json").read_text())
    family = gguf_families.of(config)
    heads = {}
    if family["permuted"]:
        heads = {"q_proj": config["num_attention_heads"], "k_proj": config["num_key_value_heads"]}
    offset = family.get("norm_offset", 0)
    meant, entries = {}, []  # entries: name, shape, type, bytes
    weights, members = stacked(tensors.read(folder / "model.safetensors"))
    for name, (shape, values) in weights.items():
        stored = "f32"
        if len(shape) >= 2:
            stored = kind(name) if callable(kind) else kind
        if tables and name.startswith(("model.embed_tokens.", "lm_head.")):
            stored = tables
        order, plain = None, shape
        for part, count in heads.items():
            if f".{part}." in name:
                order = permuted(shape[0], count)
                values = reorder(values, [shape[0], len(values) // shape[0]], order)
        moved = offset and name.endswith("norm.weight")
        if moved:
            values = array.array("f", [x + offset for x in values])
        transposed = name.endswith(family.get("transposed", ()) or "\0")
        if transposed:
            shape, values = turned(shape, values)
        data, values = encode(values, stored)
        entries.append((gguf_name(name, family["names"]), shape, stored, data))
        if order:
            back = sorted(range(len(order)), key=order.__getitem__)
            values = reorder(values, [shape[0], len(values) // shape[0]], back)
        if moved:
            values = array.array("f", [x - offset for x in values])
        if transposed:
            values = turned(shape, values)[1]
        each = len(values) // len(members.get(name, [name]))
        for index, member in enumerate(members.get(name, [name])):
            meant[member] = (plain[1:] if name in members else plain, values[index * each : (index + 1) * each])
    for name, numbers in gguf_families.rope_tensors(config).items():
        entries.append((name, [len(numbers)], "f32", numbers.tobytes()))

    pairs = [typed_pair(*each) for each in gguf_families.metadata(config)]
    head = b"GGUF" + struct.pack("<IQQ", version, len(entries), len(pairs)) + b"".join(pairs)
    body = bytearray()
    for name, shape, stored, data in entries:
        body += b"\0" * (-len(body) % ALIGNMENT)
        head += string(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape))
        head += struct.pack("<IQ", TYPES[stored], len(body))
        body += data
    head += b"\0" * (-len(head) % ALIGNMENT)
    output.write_bytes(head + body)
    return meant
