"""A session with llmc-lsp-server: starts it, opens a file with a mistake, leaves."""

import json
import subprocess

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
send("shutdown", number=1)
send("exit")
print("ended with", server.wait(timeout=30))
