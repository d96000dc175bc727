"""A session with llmc-lsp-server: starts it, opens a file with a mistake and dumps, leaves."""

import json
import os
import subprocess
import sys

TEXT = """func.func @f(%x: tensor<?x8xf32>, %w: !llm.weight<[8], #llm.dense<f32>>) -> tensor<?x8xf32> {
  %y = llm.rms_norm %x, %w eps -1.0 : tensor<?x8xf32>, !llm.weight<[8], #llm.dense<f32>>
  return %y : tensor<?x8xf32>
}
"""

server = subprocess.Popen(["llmc-lsp-server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL)


def send(method, params=None, number=None):
    message = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        message["params"] = params
    if number is not None:
        message["id"] = number
    body = json.dumps(message).encode()
    server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    server.stdin.flush()


def receive():
    length = 0
    while line := server.stdout.readline().strip():
        name, value = line.split(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return json.loads(server.stdout.read(length))


send("initialize", {"processId": None, "rootUri": None, "capabilities": {}}, 0)
print("initialize:", json.dumps(receive()["result"]["capabilities"]))
send("initialized", {})
send("textDocument/didOpen", {"textDocument": {"uri": "test:///f.mlir", "languageId": "mlir",
                                               "version": 1, "text": TEXT}})
while (message := receive()).get("method") != "textDocument/publishDiagnostics":
    pass
print("diagnostics:", json.dumps(message["params"]["diagnostics"]))


def answer(number):
    while (message := receive()).get("id") != number:
        pass
    return message["result"]


def at(text, word):
    """Where the first such word stands."""
    before = text[:text.index(word)]
    line = before.count("\n")
    return {"line": line, "character": len(before) - before.rfind("\n") - 1}


# Dumps have nothing wrong, every op of theirs is known, and symbols lead to their definitions.
for number, (path, op, symbol) in enumerate(
        zip(sys.argv[1::3], sys.argv[2::3], sys.argv[3::3]), start=1):
    text = open(path).read()
    uri = "test:///" + os.path.basename(path)
    send("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "mlir", "version": 1,
                                                   "text": text}})
    while (message := receive()).get("method") != "textDocument/publishDiagnostics":
        pass
    assert message["params"]["diagnostics"] == [], message["params"]["diagnostics"]
    place = {"textDocument": {"uri": uri}, "position": at(text, op)}
    send("textDocument/hover", place, 10 * number)
    print("hover:", json.dumps(answer(10 * number)))
    place = {"textDocument": {"uri": uri}, "position": at(text, symbol)}
    send("textDocument/definition", place, 10 * number + 1)
    found = answer(10 * number + 1)
    print("definition:", symbol, "in line", found[0]["range"]["start"]["line"] + 1)
send("shutdown", number=1)
send("exit")
print("ended with", server.wait(timeout=30))
