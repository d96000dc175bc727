"""The memory that a run prints is what the manifest states, arena by arena, and is allocated.

usage: memory.py ARTIFACT [FLAG-OF-LLMC-RUN]...
"""
import json
import subprocess
import sys
from pathlib import Path


def main():
    artifact, flags = Path(sys.argv[1]), sys.argv[2:]
    manifest = json.loads((artifact / "manifest.json").read_text())
    done = subprocess.run(["llmc", "run", artifact, "--prompt", "hi", "--max-tokens", "2", "--json",
                           *flags], capture_output=True, text=True, check=True)
    result = json.loads(done.stdout)
    options = dict(zip(flags[::2], flags[1::2]))
    limits = manifest["limits"]
    context = int(options.get("--context", limits["max_context"]))
    extents = {
        "const": 1, "tokens": limits["max_tokens"], "outputs": limits["max_outputs"],
        "sequences": limits["max_sequences"], "threads": result["threads"],
        "blocks": -(-context // limits["block_tokens"]),
    }
    memory = result["memory"]
    stated = {arena["name"]: sum(extents[name] * factor for name, factor in arena["size"].items())
              for arena in manifest["arenas"]}
    planned = {arena["name"]: arena["planned"] for arena in memory["arenas"]}
    allocated = {arena["name"]: arena["allocated"] for arena in memory["arenas"]}
    if not stated == planned == allocated:
        sys.exit(f"stated {stated}, planned {planned}, allocated {allocated}")
    total = sum(stated.values())
    if not total == memory["planned"] == memory["allocated"]:
        sys.exit(f"the arenas are {total} bytes, the total says {memory}")
    # Program, tokenizer and stacks: what docs/Runtime.md states as the base.
    base = 32 << 20
    if not 0 < memory["peak_resident"] <= 1.05 * (total + base):
        sys.exit(f"{memory['peak_resident']} bytes are resident, {total} planned, base {base}")
    print(f"{total} bytes in {len(stated)} arenas, {extents['blocks']} blocks of state, "
          f"{extents['threads']} threads")


main()
