//===- ImportSteps.cpp - entries of a manifest ----------------------------===//

#include "Importer.h"

using namespace mlir;
using namespace llmc::plan;

void Importer::readEntries(JsonObject &top) {
  top.objects("entries", [&](JsonObject &object) {
    OpBuilder::InsertionGuard guard(builder);
    StringAttr name = readName(object);
    auto entry = EntryOp::create(builder, getLoc(object), name.getValue());
    builder.setInsertionPointToEnd(&entry.getBody().front());
    readSteps(object, /*inRepeat=*/false);
    object.objects("outputs", [&](JsonObject &output) {
      StringAttr outputName = builder.getStringAttr(output.string("name"));
      FlatSymbolRefAttr slice = readRef(output, "slice");
      Extent rows = output.oneOf("rows", symbolizeExtent);
      IntegerAttr width = readInteger(output, "width", 1);
      OutputOp::create(builder, getLoc(output), outputName, slice,
                       ExtentAttr::get(builder.getContext(), rows), width, readElement(output));
    });
  });
}

void Importer::readSteps(JsonObject &object, bool inRepeat) {
  object.objects("steps", [&](JsonObject &step) { readStep(step, inRepeat); });
}

void Importer::readStep(JsonObject &step, bool inRepeat) {
  if (step.has("launch"))
    return readLaunch(step.object("launch"));
  if (step.has("observe"))
    return readObserve(step.object("observe"));
  if (step.has("collective"))
    return readCollective(step.object("collective"));
  if (!step.has("repeat"))
    return reader.fail(step.getPath(), "is none of launch, repeat, observe and collective");
  if (inRepeat)
    return reader.fail(step.getPath("repeat"), "is inside a repeat; repeats do not nest");
  readRepeat(step.object("repeat"));
}

UseAttr Importer::readUse(JsonObject &object) {
  SmallVector<StringRef> kinds;
  for (StringRef kind : {"slice", "weights", "state"})
    if (object.has(kind))
      kinds.push_back(kind);
  if (kinds.size() != 1) {
    reader.fail(object.getPath(), "names " + Twine(kinds.size()) +
                                      " of slice, weights and state, an operand names one");
    return {};
  }
  StringRef kind = kinds.front();
  FlatSymbolRefAttr symbol = readRef(object, kind);
  // Parts of all kinds were read before the entries, and their paths say which
  // kind they are of: the plan has one name space, the manifest has three.
  StringRef list = kind == "slice" ? "slices" : kind == "state" ? "states" : "weights";
  auto part = names.find(symbol.getValue());
  if (part == names.end() || !StringRef(part->second).starts_with(list.str() + "["))
    reader.fail(object.getPath(kind), "'" + symbol.getValue() + "' is not in " + list);
  Access access = object.oneOf("access", symbolizeAccess);
  std::optional<int64_t> layer = object.optionalInteger("layer");
  return UseAttr::get(builder.getContext(), symbol, access, layer,
                      object.optionalInteger("fixed"));
}

void Importer::readLaunch(JsonObject launch) {
  FlatSymbolRefAttr kernel = readRef(launch, "kernel");
  SmallVector<Attribute> uses;
  launch.objects("operands", [&](JsonObject &use) { uses.push_back(readUse(use)); });
  ItemsAttr items = readItems(launch.object("items"));
  StringAttr remark;
  if (launch.has("remark"))
    remark = builder.getStringAttr(launch.string("remark"));
  launch.finish();
  if (reader.failed())
    return;
  LaunchOp::create(builder, getLoc(launch), kernel, builder.getArrayAttr(uses), items, remark);
}

void Importer::readRepeat(JsonObject repeat) {
  OpBuilder::InsertionGuard guard(builder);
  int64_t from = repeat.integer("from"), count = repeat.integer("count", 1);
  auto op = RepeatOp::create(builder, getLoc(repeat), from, count, repeat.integer("period", 1));
  builder.setInsertionPointToEnd(&op.getBody().front());
  readSteps(repeat, /*inRepeat=*/true);
  repeat.finish();
}

void Importer::readObserve(JsonObject observe) {
  StringAttr name = builder.getStringAttr(observe.string("name"));
  FlatSymbolRefAttr slice = readRef(observe, "slice");
  Extent rows = observe.oneOf("rows", symbolizeExtent);
  IntegerAttr width = readInteger(observe, "width", 1);
  IntegerAttr heads = readOptionalInteger(observe, "heads");
  IntegerAttr layer = readOptionalInteger(observe, "layer");
  observe.finish();
  ObserveOp::create(builder, getLoc(observe), name, slice,
                    ExtentAttr::get(builder.getContext(), rows), width, layer, heads);
}

void Importer::readCollective(JsonObject collective) {
  CollectiveKind kind = collective.oneOf("kind", symbolizeCollectiveKind);
  FlatSymbolRefAttr slice = readRef(collective, "slice");
  FlatSymbolRefAttr group = readRef(collective, "group");
  TypeAttr element = readElement(collective);
  AffineMapAttr count = readSize(collective.object("count"));
  collective.finish();
  CollectiveOp::create(builder, getLoc(collective),
                       CollectiveKindAttr::get(builder.getContext(), kind), slice, group, element,
                       count);
}
