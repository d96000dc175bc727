"""Reads what --explain=FILE.json writes and checks it against itself and, where given, against
the fusion report of the same program."""

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
    most = sum(place["places"] * runs.get(place["function"], 1) for place in decision["functions"])
    times = decision["times"]
    # A function that stands in several repeats may be planned differently in each.
    assert times == most or decision["phase"] == "plan" and places <= times < most, decision
    passed += places * (decision["outcome"] == "passed")
    missed += places * (decision["outcome"] in ("missed", "failed"))
    if decision["outcome"] == "passed":
        saved += times * decision["facts"].get("bytes_per_token_saved", 0)
    if decision["name"] == "launch":
        assert decision["facts"]["kind"] in ("tuned", "generic"), decision
        assert decision["facts"]["kernel"], decision
        launches += times
    if decision["outcome"] == "missed" and decision["phase"] == "optimize":
        assert decision["predicate"], decision
        print(decision["phase"], decision["name"], "missed x", f"{times}:", decision["predicate"])
print("launches", launches)
totals = found["totals"]
assert (totals["passed"], totals["missed"]) == (passed, missed)
assert (totals["launches"], totals["bytes_per_token_saved"]) == (launches, saved)
print("texts and facts agree")
if len(sys.argv) > 2:
    report = json.load(open(sys.argv[2]))
    assert launches == report["launches_fused"], (launches, report["launches_fused"])
    assert totals["launches_saved"] == report["launches_unfused"] - launches
    for kind in report["kinds"]:
        # Each kind for itself; a decision of several kinds tells only the sum of its times.
        alone = sum(decision["times"] for decision in found["decisions"]
                    if decision["name"] == "launch" and
                    [place["function"] for place in decision["functions"]] == [kind["function"]])
        assert alone <= kind["launches_fused"] * kind["runs"], (alone, kind)
    print("the report has as many launches, fused and not")
