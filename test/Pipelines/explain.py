"""Reads what --explain=FILE.json writes and checks it against itself."""

import json
import sys

found = json.load(open(sys.argv[1]))
runs = {kind["function"]: kind["runs"] for kind in found["kinds"]}
print("kinds:", ", ".join(
    f"{kind['function']} " + ("once" if not kind["layers"] else f"{kind['runs']} times ({kind['layers']})")
    for kind in sorted(found["kinds"], key=lambda kind: kind["layers"])))
passed = missed = launches = saved = 0
for decision in found["decisions"]:
    places = sum(place["places"] for place in decision["functions"])
    times = sum(place["places"] * runs.get(place["function"], 1) for place in decision["functions"])
    assert times == decision["times"], decision
    passed += places * (decision["outcome"] == "passed")
    missed += places * (decision["outcome"] in ("missed", "failed"))
    saved += times * decision["facts"].get("launches_saved", 0)
    if decision["name"] == "launch":
        assert decision["facts"]["kind"] in ("tuned", "generic"), decision
        assert decision["facts"]["kernel"], decision
        launches += times
    if decision["outcome"] == "missed" and decision["phase"] == "optimize":
        assert decision["predicate"], decision
        print(decision["phase"], decision["name"], "missed x", f"{times}:", decision["predicate"])
print("launches", launches)
totals = found["totals"]
assert (totals["passed"], totals["missed"], totals["launches_saved"]) == (passed, missed, saved)
print("texts and facts agree")
