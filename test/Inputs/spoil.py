"""Copies a golden folder with one thing wrong.

usage: spoil.py KIND GOLDEN FOLDER
"""
import json
import struct
import sys
from pathlib import Path

Q0 = "model.layers.0.self_attn.q_proj.weight"
KINDS = {}


class Model:
    def __init__(self, folder):
        self.config = json.loads((folder / "config.json").read_text())
        data = (folder / "model.safetensors").read_bytes()
        (length,) = struct.unpack_from("<Q", data)
        self.header, self.body = json.loads(data[8 : 8 + length]), data[8 + length :]
        self.cut = 0

    def write(self, folder):
        folder.mkdir(parents=True)
        (folder / "config.json").write_text(
            self.config if isinstance(self.config, str) else json.dumps(self.config, indent=1))
        text = json.dumps(self.header).encode()
        data = struct.pack("<Q", len(text)) + text + self.body
        (folder / "model.safetensors").write_bytes(data[: len(data) - self.cut])


def kind(function):
    KINDS[function.__name__.replace("_", "-")] = function


@kind
def unknown_key(m): m.config["attention_temperature_profile"] = 0.37
@kind
def misspelt_key(m): m.config["num_hiden_layers"] = 3
@kind
def missing_key(m): del m.config["hidden_size"]
@kind
def text_for_number(m): m.config["num_hidden_layers"] = "four"
@kind
def absurd_number(m): m.config["num_hidden_layers"] = 10**18
@kind
def fractional_number(m): m.config["hidden_size"] = 48.5
@kind
def unknown_model(m): m.config.update(model_type="lama", architectures=["LamaForCausalLM"])
@kind
def unknown_rope(m): m.config["rope_parameters"]["rope_type"] = "spiral"
@kind
def unknown_activation(m): m.config["hidden_act"] = "swoosh"
@kind
def heads_do_not_divide(m): m.config["num_key_value_heads"] = 4
@kind
def broken_json(m): m.config = '{"model_type": "llama",\n "hidden_size": }'
@kind
def deep_json(m): m.config = "[" * 100000
@kind
def layer_too_many(m): m.config["num_hidden_layers"] += 1
@kind
def layer_too_few(m): m.config["num_hidden_layers"] -= 1
@kind
def other_vocabulary(m): m.config["vocab_size"] += 1
@kind
def missing_tensor(m): del m.header[Q0]
@kind
def unread_tensor(m):
    end = len(m.body)
    m.header["model.layers.0.self_attn.mystery_gate.weight"] = {
        "dtype": "F32", "shape": [2], "data_offsets": [end, end + 8]}
    m.body += bytes(8)
@kind
def shared_bytes(m): m.header["model.layers.0.self_attn.mystery_gate.weight"] = m.header[Q0]
@kind
def other_shape(m): m.header[Q0]["shape"] = m.header[Q0]["shape"][::-1]
@kind
def overlapping_offsets(m):
    begin, end = m.header[Q0]["data_offsets"]
    m.header[Q0]["data_offsets"] = [begin + 4, end + 4]
@kind
def other_type(m): m.header[Q0]["dtype"] = "F16"
@kind
def unknown_type(m): m.header[Q0]["dtype"] = "F13"
def put(m, element, value):
    begin, _ = m.header[Q0]["data_offsets"]
    at = begin + 4 * element
    m.body = m.body[:at] + struct.pack("<f", value) + m.body[at + 4:]
@kind
def nan_weight(m): put(m, m.header[Q0]["shape"][1] * 2 + 5, float("nan"))
@kind
def infinite_weight(m): put(m, 0, float("-inf"))
@kind
def cut_file(m): m.cut = 1
@kind
def cut_header(m): m.cut = len(m.body) + 10


def main():
    name, golden, folder = sys.argv[1:]
    model = Model(Path(golden))
    KINDS[name](model)
    model.write(Path(folder))


main()
