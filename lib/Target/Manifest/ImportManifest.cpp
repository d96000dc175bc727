//===- ImportManifest.cpp - a program from manifest.json ------------------===//

#include "Importer.h"
#include "llmc/Target/Manifest/Manifest.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace llmc::plan;

OwningOpRef<ModuleOp> llmc::plan::importManifest(StringRef json, MLIRContext *context) {
  context->loadDialect<PlanDialect>();
  return Importer(context).import(json);
}

OwningOpRef<ModuleOp> Importer::import(StringRef json) {
  llvm::Expected<llvm::json::Value> document = llvm::json::parse(json);
  if (!document) {
    reader.fail("", "is not JSON: " + llvm::toString(document.takeError()));
    return nullptr;
  }
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder, builder.getUnknownLoc());
  builder.setInsertionPointToEnd(module->getBody());

  JsonObject top(reader, *document, "");
  ProgramOp program = readHead(top);
  if (!program)
    return nullptr;
  builder.setInsertionPointToEnd(&program.getBody().front());
  readMemory(top);
  readKernels(top);
  readRest(top, program);
  readEntries(top);
  top.finish();
  if (reader.failed() || failed(verify(*module)))
    return nullptr;
  return module;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

AffineMapAttr Importer::readSize(JsonObject object) {
  Size size = Size::fixed(object.integer("const", 0, 0));
  for (unsigned i = 0; i < kNumSizeSymbols; ++i)
    size.terms[i] = object.integer(getName(static_cast<SizeSymbol>(i)), 0, 0);
  object.finish();
  return AffineMapAttr::get(size.getMap(builder.getContext()));
}

ItemsAttr Importer::readItems(JsonObject object) {
  int64_t factor = object.integer("factor");
  Extent of = object.oneOf("of", symbolizeExtent);
  int64_t tile = object.integer("tile", 1, 1);
  int64_t plus = object.integer("plus", 0, 0);
  object.finish();
  return ItemsAttr::get(builder.getContext(), factor, of, tile, plus);
}

LayersAttr Importer::readLayers(JsonObject &object) {
  SmallVector<int64_t> bounds;
  object.list("layers", [&](const llvm::json::Value &value, std::string path) {
    const llvm::json::Array *pair = value.getAsArray();
    if (!pair || pair->size() != 2)
      return reader.fail(path, "is not a pair [begin, end)");
    for (size_t i = 0; i < 2; ++i)
      bounds.push_back(JsonObject::asInteger(reader, (*pair)[i],
                                             path + "[" + std::to_string(i) + "]", 0));
  });
  if (bounds.empty() || reader.failed())
    return {};
  return getChecked<LayersAttr>(object.getPath("layers"), ArrayRef<int64_t>(bounds));
}

TypeAttr Importer::readElement(JsonObject &object) {
  StringRef name = object.string("element");
  Type type = llvm::StringSwitch<Type>(name)
                  .Case("f32", builder.getF32Type())
                  .Case("f16", builder.getF16Type())
                  .Case("bf16", builder.getBF16Type())
                  .Case("i32", builder.getI32Type())
                  .Default(Type());
  if (type)
    return TypeAttr::get(type);
  reader.fail(object.getPath("element"), "has no value called '" + name + "'");
  return TypeAttr::get(builder.getF32Type());
}

StringAttr Importer::readName(JsonObject &object) {
  StringRef name = object.string("name");
  if (name.empty())
    reader.fail(object.getPath("name"), "is empty");
  auto [it, isNew] = names.try_emplace(name, object.getPath());
  if (!isNew)
    reader.fail(object.getPath("name"), "'" + name + "' is the name of " + it->second +
                                            " too; names of a plan are unique over all kinds");
  return builder.getStringAttr(name);
}

FlatSymbolRefAttr Importer::readRef(JsonObject &object, StringRef key) {
  return FlatSymbolRefAttr::get(builder.getContext(), object.string(key));
}

IntegerAttr Importer::readInteger(JsonObject &object, StringRef key, int64_t least) {
  return builder.getI64IntegerAttr(object.integer(key, least));
}

IntegerAttr Importer::readOptionalInteger(JsonObject &object, StringRef key, int64_t least) {
  std::optional<int64_t> value = object.optionalInteger(key, least);
  return value ? builder.getI64IntegerAttr(*value) : IntegerAttr();
}

//===----------------------------------------------------------------------===//
// Head
//===----------------------------------------------------------------------===//

void Importer::checkVersion(JsonObject &top) {
  if (StringRef format = top.string("format"); format != "llmc.manifest")
    reader.fail("format", "is '" + format + "', not 'llmc.manifest'");
  SmallVector<int64_t> version = top.integers("version");
  if (version.size() != 2)
    return reader.fail("version", "is not a pair [major, minor]");
  if (version[0] != kManifestMajor || version[1] > kManifestMinor)
    reader.fail("version", "is " + Twine(version[0]) + "." + Twine(version[1]) +
                               ", this llmc reads " + Twine(kManifestMajor) + ".0 to " +
                               Twine(kManifestMajor) + "." + Twine(kManifestMinor));
}

ProgramOp Importer::readHead(JsonObject &top) {
  checkVersion(top);
  // Written anew by the export; an edited manifest is what this reader is for.
  top.string("digest");
  JsonObject producer = top.object("producer");
  auto producerAttr =
      ProducerAttr::get(builder.getContext(), producer.string("name"),
                        producer.string("version"), producer.string("toolchain", ""));
  producer.finish();

  JsonObject model = top.object("model");
  StringRef name = model.string("name", ""), architecture = model.string("architecture", "");
  StringRef description = model.string("description", "");
  int64_t vocabSize = model.integer("vocab_size"), hiddenSize = model.integer("hidden_size");
  int64_t layers = model.integer("layers"), context = model.integer("context_length", 0, 0);
  auto modelAttr = getChecked<ModelAttr>("model", name, architecture, description, vocabSize,
                                         hiddenSize, layers, context,
                                         model.integer("parameters", 0, 0));
  model.finish();

  JsonObject target = top.object("target");
  auto targetAttr = TargetAttr::get(builder.getContext(), target.string("device"),
                                    target.string("triple", ""));
  target.finish();

  JsonObject limits = top.object("limits");
  int64_t tokens = limits.integer("max_tokens", 1), sequences = limits.integer("max_sequences", 1);
  int64_t maxContext = limits.integer("max_context", 1);
  int64_t blockTokens = limits.integer("block_tokens", 1), blocks = limits.integer("blocks", 1);
  auto limitsAttr =
      getChecked<LimitsAttr>("limits", tokens, sequences, maxContext, blockTokens, blocks,
                             limits.optionalInteger("max_outputs", 1),
                             limits.optionalInteger("ring_blocks", 1));
  limits.finish();
  if (reader.failed())
    return {};
  return ProgramOp::create(builder, reader.getLoc(""), producerAttr, modelAttr, targetAttr,
                           limitsAttr);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void Importer::readMemory(JsonObject &top) {
  top.objects("files", [&](JsonObject &file) {
    FileOp::create(builder, getLoc(file), file.string("path"), file.integer("bytes"),
                   file.string("sha256"));
  });
  top.objects("arenas", [&](JsonObject &arena) {
    StringAttr name = readName(arena);
    ArenaKind kind = arena.oneOf("kind", symbolizeArenaKind);
    AffineMapAttr size = readSize(arena.object("size"));
    StringAttr file;
    ArrayAttr rankFiles;
    if (arena.has("file"))
      file = builder.getStringAttr(arena.string("file"));
    if (arena.has("rank_files"))
      rankFiles = builder.getStrArrayAttr(arena.strings("rank_files"));
    ArenaOp::create(builder, getLoc(arena), name, ArenaKindAttr::get(builder.getContext(), kind),
                    size, file, rankFiles, PackingAttr());
  });
  top.objects("slices", [&](JsonObject &slice) {
    StringAttr name = readName(slice);
    FlatSymbolRefAttr arena = readRef(slice, "arena");
    IntegerAttr offset = readInteger(slice, "offset");
    AffineMapAttr size = readSize(slice.object("size"));
    SmallVector<int64_t> live = slice.integers("live");
    if (live.size() != 2)
      return reader.fail(slice.getPath("live"), "is not a pair [first, last]");
    auto liveAttr = getChecked<LiveAttr>(slice.getPath("live"), live[0], live[1]);
    SliceOp::create(builder, getLoc(slice), name, arena, size, offset, liveAttr);
  });
  top.objects("weights", [&](JsonObject &weights) { readWeights(weights); });
  top.objects("states", [&](JsonObject &state) { readState(state); });
}

WeightLayoutAttrInterface Importer::readLayout(JsonObject object) {
  StringRef kind = object.string("kind");
  WeightLayoutAttrInterface layout;
  if (kind == "rows")
    layout = RowsAttr::get(builder.getContext());
  else if (kind == "panels")
    layout = getChecked<PanelsAttr>(object.getPath(), object.integer("tile", 1));
  else
    reader.fail(object.getPath("kind"), "has no value called '" + kind + "'");
  object.finish();
  return layout;
}

SourceAttr Importer::readSource(JsonObject &object) {
  StringRef tensor;
  DenseF32ArrayAttr values;
  bool zeros = object.boolean("zeros", false);
  if (object.has("values")) {
    SmallVector<float> numbers;
    for (double value : object.numbers("values"))
      numbers.push_back(static_cast<float>(value));
    values = builder.getDenseF32ArrayAttr(numbers);
  } else if (!zeros) {
    tensor = object.string("tensor");
    if (tensor.empty())
      reader.fail(object.getPath("tensor"), "is empty");
  }
  StringAttr name;
  if (object.has("name"))
    name = builder.getStringAttr(object.string("name"));
  int64_t rows = object.integer("rows", 1), first = 0, of = 0;
  if (object.has("of_rows")) {
    first = object.integer("first_row", 0);
    of = object.integer("of_rows", 1);
  }
  bool transposed = object.boolean("transposed", false);
  ViewAttr view;
  if (object.has("view")) {
    JsonObject part = object.object("view");
    SmallVector<int64_t> stored = part.integers("stored"), strides = part.integers("strides");
    view = getChecked<ViewAttr>(part.getPath(), ArrayRef<int64_t>(stored),
                                part.integer("first", 0), ArrayRef<int64_t>(strides));
    part.finish();
    if (!view)
      return {};
  }
  return getChecked<SourceAttr>(object.getPath(), tensor, rows, name, values, first, of,
                                transposed, view);
}

void Importer::readWeights(JsonObject &object) {
  StringAttr name = readName(object);
  FlatSymbolRefAttr arena = readRef(object, "arena");
  IntegerAttr base = readInteger(object, "base");
  IntegerAttr stride = builder.getI64IntegerAttr(object.integer("stride", 0, 0));
  IntegerAttr bytes = readInteger(object, "bytes", 1);
  LayersAttr layers = readLayers(object);
  IntegerAttr rows = readInteger(object, "rows", 1), cols = readInteger(object, "cols", 1);
  IntegerAttr matrices = builder.getI64IntegerAttr(object.integer("matrices", 1, 1));
  Storage storage = object.oneOf("storage", symbolizeStorage);
  WeightLayoutAttrInterface layout = readLayout(object.object("layout"));
  IntegerAttr interleave = builder.getI64IntegerAttr(object.integer("interleave", 0, 0));
  SmallVector<Attribute> sources;
  object.objects("sources", [&](JsonObject &source) { sources.push_back(readSource(source)); });
  if (reader.failed())
    return;
  WeightsOp::create(builder, getLoc(object), name, arena, layers, rows, cols, matrices,
                    StorageAttr::get(builder.getContext(), storage), layout, interleave, bytes,
                    base, stride, builder.getArrayAttr(sources));
}

void Importer::readState(JsonObject &object) {
  StringAttr name = readName(object);
  FlatSymbolRefAttr arena = readRef(object, "arena");
  LayersAttr layers = readLayers(object);
  if (!layers)
    return reader.fail(object.getPath("layers"), "holds no layer");
  auto kind = StateKindAttr::get(builder.getContext(), object.oneOf("kind", symbolizeStateKind));
  IntegerAttr heads = readInteger(object, "heads", 1);
  IntegerAttr keyWidth = readInteger(object, "key_width");
  IntegerAttr valueWidth = readInteger(object, "value_width");
  TypeAttr element = readElement(object);
  IntegerAttr perBlock = readOptionalInteger(object, "bytes_per_block", 1);
  IntegerAttr perSequence = readOptionalInteger(object, "bytes_per_sequence", 1);
  IntegerAttr window = readOptionalInteger(object, "window", 1);
  StateOp::create(builder, getLoc(object), name, arena, layers, kind, heads, keyWidth, valueWidth,
                  element, perBlock, perSequence, window);
}

//===----------------------------------------------------------------------===//
// Kernels and the rest
//===----------------------------------------------------------------------===//

ArrayAttr Importer::readContracts(JsonObject &kernel) {
  SmallVector<Attribute> contracts;
  kernel.objects("contracts", [&](JsonObject &object) {
    ItemsAttr items = readItems(object.object("items"));
    SmallVector<OperandAttr> operands;
    object.objects("operands", [&](JsonObject &operand) {
      MemoryKind kind = operand.oneOf("kind", symbolizeMemoryKind);
      Access access = operand.oneOf("access", symbolizeAccess);
      AffineMap bytes = readSize(operand.object("bytes")).getValue();
      operands.push_back(getChecked<OperandAttr>(operand.getPath(), kind, access, bytes));
    });
    if (!reader.failed())
      contracts.push_back(ContractAttr::get(builder.getContext(), items, operands));
  });
  return builder.getArrayAttr(contracts);
}

void Importer::readKernels(JsonObject &top) {
  top.objects("variants", [&](JsonObject &variant) {
    StringAttr name = readName(variant);
    StringAttr suffix = builder.getStringAttr(variant.string("suffix"));
    VariantOp::create(builder, getLoc(variant), name, suffix,
                      builder.getStrArrayAttr(variant.strings("requires")));
  });
  top.objects("kernels", [&](JsonObject &kernel) {
    StringAttr name = readName(kernel);
    StringAttr symbol = builder.getStringAttr(kernel.string("symbol"));
    StringAttr generator = builder.getStringAttr(kernel.string("generator", ""));
    IntegerAttr scratch = builder.getI64IntegerAttr(kernel.integer("scratch", 0, 0));
    DeviceAttr deviceAttr;
    if (kernel.has("device")) {
      JsonObject device = kernel.object("device");
      StringRef file = device.string("file");
      SmallVector<ItemsAttr> grid;
      device.list("grid", [&](const llvm::json::Value &value, std::string path) {
        grid.push_back(readItems(JsonObject(reader, value, std::move(path))));
      });
      SmallVector<int64_t> block = device.integers("block", 1);
      deviceAttr = getChecked<DeviceAttr>(device.getPath(), file, ArrayRef<ItemsAttr>(grid),
                                          ArrayRef<int64_t>(block),
                                          device.integer("shared_bytes", 0, 0));
      device.finish();
    }
    IntegerAttr tokensBelow = readOptionalInteger(kernel, "tokens_below", 1);
    IntegerAttr positionsBelow = readOptionalInteger(kernel, "positions_below", 1);
    ArrayAttr contracts = readContracts(kernel);
    if (reader.failed())
      return;
    KernelOp::create(builder, getLoc(kernel), name, symbol, generator, scratch, deviceAttr,
                     tokensBelow, positionsBelow, contracts);
  });
}

void Importer::readRest(JsonObject &top, ProgramOp program) {
  if (top.has("ranks")) {
    JsonObject ranks = top.object("ranks");
    program.setRanks(ranks.integer("count", 1));
    ranks.objects("groups", [&](JsonObject &group) {
      StringAttr name = readName(group);
      GroupOp::create(builder, getLoc(group), name,
                      builder.getDenseI64ArrayAttr(group.integers("ranks")));
    });
    ranks.finish();
  }
  if (top.has("recompute_beyond"))
    program.setRecomputeBeyond(top.integers("recompute_beyond", 1));
  if (top.has("tokenizer")) {
    JsonObject tokenizer = top.object("tokenizer");
    program.setTokenizer(tokenizer.string("file"));
    tokenizer.finish();
  }
  SmallVector<Attribute> accepted;
  top.objects("accepted", [&](JsonObject &item) {
    accepted.push_back(
        AcceptedAttr::get(builder.getContext(), item.string("key"), item.string("value")));
  });
  program.setAcceptedAttr(builder.getArrayAttr(accepted));
}
