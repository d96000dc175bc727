//===- ManifestParse.cpp - manifest.json into structs ---------------------===//

#include "ManifestJson.h"
#include "llmc/Runtime/Manifest.h"

using nlohmann::json;

namespace llmc::rt {

using detail::failAt;
using detail::integerOf;
using detail::Object;

namespace {

constexpr auto elementNames = {"f32", "f16", "bf16", "i32"};
constexpr auto axisNames = {"one", "tokens", "outputs", "sequences"};
constexpr auto operandNames = {"slice", "weights", "state"};
constexpr auto accessNames = {"read", "write", "readwrite"};

Size parseSize(Object object) {
  Size size;
  size.constant = object.integer("const", 0, 0);
  size.tokens = object.integer("tokens", 0, 0);
  size.outputs = object.integer("outputs", 0, 0);
  size.sequences = object.integer("sequences", 0, 0);
  size.blocks = object.integer("blocks", 0, 0);
  size.threads = object.integer("threads", 0, 0);
  size.windowBlocks = object.integer("window_blocks", 0, 0);
  object.finish();
  return size;
}

Items parseItems(Object object) {
  Items items;
  items.factor = object.integer("factor", 0);
  items.of = Axis(object.oneOf("of", axisNames));
  items.tile = object.integer("tile", 1, 1);
  items.plus = object.integer("plus", 0, 0);
  object.finish();
  return items;
}

LayerSet parseLayers(Object &object, std::string_view key) {
  LayerSet set;
  object.list(key, [&](const json &item, const std::string &path) {
    if (!item.is_array() || item.size() != 2)
      failAt(object.fileName(), path, "is not a pair [begin, end)");
    int64_t begin = integerOf(item[0], object.fileName(), path + "[0]", 0);
    int64_t end = integerOf(item[1], object.fileName(), path + "[1]", 1);
    int64_t least = set.ranges.empty() ? 0 : set.ranges.back().second;
    if (begin < least || end <= begin)
      failAt(object.fileName(), path,
             "[" + std::to_string(begin) + ", " + std::to_string(end) +
                 ") is empty or does not follow the range before it");
    set.ranges.emplace_back(begin, end);
  });
  return set;
}

std::vector<std::string> parseStrings(Object &object, std::string_view key) {
  std::vector<std::string> texts;
  object.list(key, [&](const json &item, const std::string &path) {
    if (!item.is_string())
      failAt(object.fileName(), path, "is not a string");
    texts.push_back(item.get<std::string>());
  });
  return texts;
}

std::vector<int64_t> parseIntegers(Object &object, std::string_view key, int64_t least) {
  std::vector<int64_t> numbers;
  object.list(key, [&](const json &item, const std::string &path) {
    numbers.push_back(integerOf(item, object.fileName(), path, least));
  });
  return numbers;
}

void parseHead(Object &top, Manifest &manifest) {
  if (std::string format = top.string("format"); format != "llmc.manifest")
    top.fail("format", "is '" + format + "' instead of 'llmc.manifest'");
  std::vector<int64_t> version = parseIntegers(top, "version", 0);
  if (version.size() != 2)
    top.fail("version", "is not a pair [major, minor]");
  if (version[0] != manifestMajor || version[1] > manifestMinor)
    top.fail("version", "is " + std::to_string(version[0]) + "." + std::to_string(version[1]) +
                            ", this llmc reads " + std::to_string(manifestMajor) + ".0 to " +
                            std::to_string(manifestMajor) + "." + std::to_string(manifestMinor) +
                            ". Compile the model again with this llmc, or use one that fits");
  manifest.major = int(version[0]);
  manifest.minor = int(version[1]);
  manifest.digest = top.string("digest");
  if (!detail::isSha256(manifest.digest))
    top.fail("digest", "is not a text of 64 lower-case hexadecimal digits");

  Object producer = top.object("producer");
  manifest.producer = {producer.string("name"), producer.string("version"),
                       producer.string("toolchain", "")};
  producer.finish();

  Object model = top.object("model");
  ModelInfo &info = manifest.model;
  info.name = model.string("name", "");
  info.architecture = model.string("architecture", "");
  info.description = model.string("description", "");
  info.vocabSize = model.integer("vocab_size", 1);
  info.hiddenSize = model.integer("hidden_size", 1);
  info.layers = model.integer("layers");
  info.contextLength = model.integer("context_length", 0, 0);
  info.parameters = model.integer("parameters", 0, 0);
  model.finish();

  Object target = top.object("target");
  manifest.target = {target.string("device"), target.string("triple", "")};
  target.finish();

  Object limits = top.object("limits");
  Limits &bound = manifest.limits;
  bound.maxTokens = limits.integer("max_tokens", 1);
  bound.maxSequences = limits.integer("max_sequences", 1);
  bound.maxContext = limits.integer("max_context", 1);
  bound.blockTokens = limits.integer("block_tokens", 1);
  bound.blocks = limits.integer("blocks", 1);
  bound.maxOutputs = limits.integer("max_outputs", 1, bound.maxTokens);
  bound.ringBlocks = limits.integer("ring_blocks", 1, 0);
  limits.finish();
}

void parseMemory(Object &top, Manifest &manifest) {
  top.objects("files", [&](Object &file) {
    manifest.files.push_back({file.string("path"), file.integer("bytes"), file.string("sha256")});
  });
  top.objects("arenas", [&](Object &object) {
    Arena arena;
    arena.name = object.string("name");
    arena.kind = ArenaKind(
        object.oneOf("kind", {"weights", "state", "activations", "workspace", "communication"}));
    arena.size = parseSize(object.object("size"));
    arena.file = object.string("file", "");
    if (object.has("rank_files"))
      arena.rankFiles = parseStrings(object, "rank_files");
    manifest.arenas.push_back(std::move(arena));
  });
  top.objects("slices", [&](Object &object) {
    Slice slice;
    slice.name = object.string("name");
    slice.arena = object.string("arena");
    slice.offset = object.integer("offset");
    slice.size = parseSize(object.object("size"));
    std::vector<int64_t> live = parseIntegers(object, "live", 0);
    if (live.size() != 2 || live[0] > live[1])
      object.fail("live", "is not a pair [first, last]");
    slice.liveFirst = live[0];
    slice.liveLast = live[1];
    manifest.slices.push_back(std::move(slice));
  });
}

/// A part of a tensor by strides; it lies inside the tensor.
void parseView(Object &item, const Weight &weight, WeightSource &source) {
  if (source.tensor.empty() || source.ofRows || source.transposed)
    item.fail("view", source.tensor.empty() ? "stands without a tensor"
                                            : "stands beside a range of rows or transposed");
  Object view = item.object("view");
  auto numbers = [&](const char *key) {
    std::vector<int64_t> list;
    view.list(key, [&](const json &value, const std::string &path) {
      if (!value.is_number_integer() || value.get<int64_t>() < 1)
        failAt(view.fileName(), path, "is not a positive integer");
      list.push_back(value.get<int64_t>());
    });
    return list;
  };
  source.viewStored = numbers("stored");
  source.viewStrides = numbers("strides");
  source.viewFirst = view.integer("first");
  int64_t elements = 1, last = source.viewFirst, step;
  bool overflow = false;
  for (int64_t dim : source.viewStored)
    overflow |= __builtin_mul_overflow(elements, dim, &elements);
  std::vector<int64_t> shape{weight.matrices, source.rows, weight.cols};
  bool byMatrix = source.tensor.find("{e}") != std::string::npos ||
                  (weight.matrices == 1 && source.viewStrides.size() == 2);
  if (byMatrix)
    shape.erase(shape.begin());
  if (source.viewStored.empty() || source.viewStrides.size() != shape.size())
    view.fail("strides", "are " + std::to_string(source.viewStrides.size()) + ", the weight needs " +
                             std::to_string(shape.size()));
  for (size_t i = 0; i < shape.size(); ++i)
    overflow |= __builtin_mul_overflow(shape[i] - 1, source.viewStrides[i], &step) ||
                __builtin_add_overflow(last, step, &last);
  if (overflow || last >= elements)
    view.fail("strides", "lead beyond the end of the tensor");
  view.finish();
}

void parseWeights(Object &top, Manifest &manifest) {
  top.objects("weights", [&](Object &object) {
    Weight weight;
    weight.name = object.string("name");
    weight.arena = object.string("arena");
    weight.base = object.integer("base");
    weight.stride = object.integer("stride", 0, 0);
    weight.bytes = object.integer("bytes", 1);
    weight.layers = parseLayers(object, "layers");
    weight.rows = object.integer("rows", 1);
    weight.cols = object.integer("cols", 1);
    weight.matrices = object.integer("matrices", 1, 1);
    weight.storage = object.string("storage");
    Object layout = object.object("layout");
    weight.layoutKind = layout.oneOf("kind", {"rows", "panels"}) ? "panels" : "rows";
    if (weight.layoutKind == "panels")
      weight.layoutTile = layout.integer("tile", 1);
    layout.finish();
    weight.interleave = object.integer("interleave", 0, 0);
    object.objects("sources", [&](Object &item) {
      WeightSource source;
      source.zeros = item.boolean("zeros", false);
      source.rows = item.integer("rows", 1);
      if (item.has("values")) {
        item.list("values", [&](const json &value, const std::string &path) {
          if (!value.is_number())
            failAt(item.fileName(), path, "is not a number");
          source.values.push_back(value.get<float>());
        });
        // One set for all members, or one for each.
        int64_t sets = int64_t(source.values.size()) / source.rows;
        if (source.zeros || int64_t(source.values.size()) != source.rows * sets ||
            (sets != 1 && sets != weight.layers.count()))
          item.fail("values", "are " + std::to_string(source.values.size()) +
                                  " numbers for the rows of one source, which are " +
                                  std::to_string(source.rows));
      } else if (!source.zeros) {
        source.tensor = item.string("tensor");
      }
      source.name = item.string("name", source.tensor);
      if (item.has("of_rows")) {
        source.firstRow = item.integer("first_row");
        source.ofRows = item.integer("of_rows", 1);
        if (source.rows > source.ofRows || source.firstRow > source.ofRows - source.rows)
          item.fail("first_row", "is " + std::to_string(source.firstRow) + ", " +
                                     std::to_string(source.rows) + " rows from there on are not " +
                                     "inside the tensor's " + std::to_string(source.ofRows));
      }
      source.transposed = item.boolean("transposed", false);
      if (item.has("view"))
        parseView(item, weight, source);
      if (source.tensor.empty() && (source.ofRows || source.transposed))
        item.fail(source.ofRows ? "of_rows" : "transposed", "stands without a tensor");
      weight.sources.push_back(std::move(source));
    });
    manifest.weights.push_back(std::move(weight));
  });
  top.objects("states", [&](Object &object) {
    State state;
    state.name = object.string("name");
    state.arena = object.string("arena");
    state.layers = parseLayers(object, "layers");
    static constexpr auto kinds = {"paged", "recurrent", "conv"};
    state.kind = kinds.begin()[object.oneOf("kind", kinds)];
    state.heads = object.integer("heads", 1);
    state.keyWidth = object.integer("key_width");
    state.valueWidth = object.integer("value_width");
    state.element = Element(object.oneOf("element", elementNames));
    if (state.kind == "paged")
      state.bytesPerBlock = object.integer("bytes_per_block", 1);
    else
      state.bytesPerSequence = object.integer("bytes_per_sequence", 1);
    state.window = object.integer("window", 1, 0);
    manifest.states.push_back(std::move(state));
  });
}

Contract parseContract(Object &object) {
  Contract contract;
  contract.items = parseItems(object.object("items"));
  object.objects("operands", [&](Object &item) {
    OperandNeed need;
    need.kind = OperandKind(item.oneOf("kind", operandNames));
    need.access = Access(item.oneOf("access", accessNames));
    need.bytes = parseSize(item.object("bytes"));
    contract.operands.push_back(need);
  });
  return contract;
}

void parseKernels(Object &top, Manifest &manifest) {
  top.objects("variants", [&](Object &object) {
    manifest.variants.push_back(
        {object.string("name"), object.string("suffix"), parseStrings(object, "requires")});
  });
  top.objects("kernels", [&](Object &object) {
    Kernel kernel;
    kernel.name = object.string("name");
    kernel.symbol = object.string("symbol");
    kernel.generator = object.string("generator", "");
    kernel.scratch = object.integer("scratch", 0, 0);
    kernel.tokensBelow = object.integer("tokens_below", 1, 0);
    kernel.positionsBelow = object.integer("positions_below", 1, 0);
    object.objects("contracts",
                   [&](Object &item) { kernel.contracts.push_back(parseContract(item)); });
    if (object.has("device")) {
      Object device = object.object("device");
      KernelDevice &launch = kernel.device.emplace();
      launch.file = device.string("file");
      device.list("grid", [&](const json &item, const std::string &path) {
        launch.grid.push_back(parseItems(Object(item, device.fileName(), path)));
      });
      launch.block = parseIntegers(device, "block", 1);
      launch.sharedBytes = device.integer("shared_bytes", 0, 0);
      device.finish();
    }
    manifest.kernels.push_back(std::move(kernel));
  });
}

Operand parseOperand(Object &object) {
  Operand operand;
  static constexpr std::pair<const char *, OperandKind> kinds[] = {
      {"slice", OperandKind::Slice},
      {"weights", OperandKind::Weights},
      {"state", OperandKind::State}};
  int found = 0;
  for (auto [key, kind] : kinds)
    if (object.has(key)) {
      operand.kind = kind;
      operand.name = object.string(key);
      ++found;
    }
  if (found != 1)
    object.fail("slice", "an operand names exactly one of slice, weights and state");
  operand.access = Access(object.oneOf("access", accessNames));
  if (object.has("layer"))
    operand.layer = object.integer("layer");
  if (object.has("fixed"))
    operand.fixed = object.integer("fixed");
  return operand;
}

Step parseStep(Object &object, bool inside) {
  Step step;
  if (object.has("launch")) {
    Object launch = object.object("launch");
    step.kernel = launch.string("kernel");
    launch.objects("operands", [&](Object &item) { step.operands.push_back(parseOperand(item)); });
    step.items = parseItems(launch.object("items"));
    step.remark = launch.string("remark", "");
    launch.finish();
  } else if (object.has("observe")) {
    step.kind = StepKind::Observe;
    Object observe = object.object("observe");
    step.name = observe.string("name");
    step.slice = observe.string("slice");
    step.rows = Axis(observe.oneOf("rows", axisNames));
    step.width = observe.integer("width", 1);
    if (observe.has("heads"))
      step.heads = observe.integer("heads", 1);
    if (step.width % step.heads)
      observe.fail("heads", std::to_string(step.heads) + " heads do not divide the width of " +
                                std::to_string(step.width));
    if (observe.has("layer"))
      step.layer = observe.integer("layer");
    observe.finish();
  } else if (object.has("collective")) {
    step.kind = StepKind::Collective;
    Object collective = object.object("collective");
    collective.oneOf("kind", {"all_reduce"});
    step.collective = "all_reduce";
    step.slice = collective.string("slice");
    step.group = collective.string("group");
    step.element = Element(collective.oneOf("element", elementNames));
    step.count = parseSize(collective.object("count"));
    collective.finish();
  } else if (object.has("repeat")) {
    if (inside)
      object.fail("repeat", "repeats do not nest");
    step.kind = StepKind::Repeat;
    Object repeat = object.object("repeat");
    step.from = repeat.integer("from");
    step.repeats = repeat.integer("count", 1);
    step.period = repeat.integer("period", 1);
    repeat.objects("steps", [&](Object &item) { step.steps.push_back(parseStep(item, true)); });
    if (step.steps.empty())
      repeat.fail("steps", "is empty");
    repeat.finish();
  } else {
    object.fail("launch", "a step is one of launch, repeat, observe and collective");
  }
  return step;
}

void parseEntries(Object &top, Manifest &manifest) {
  top.objects("entries", [&](Object &object) {
    Entry entry;
    entry.name = object.string("name");
    object.objects("outputs", [&](Object &item) {
      Output output;
      output.name = item.string("name");
      output.slice = item.string("slice");
      output.rows = Axis(item.oneOf("rows", axisNames));
      output.width = item.integer("width", 1);
      output.element = Element(item.oneOf("element", elementNames));
      entry.outputs.push_back(std::move(output));
    });
    object.objects("steps", [&](Object &item) { entry.steps.push_back(parseStep(item, false)); });
    manifest.entries.push_back(std::move(entry));
  });
}

void parseRest(Object &top, Manifest &manifest) {
  if (top.has("ranks")) {
    Object ranks = top.object("ranks");
    manifest.ranks.count = ranks.integer("count", 1);
    ranks.objects("groups", [&](Object &item) {
      manifest.ranks.groups.push_back({item.string("name"), parseIntegers(item, "ranks", 0)});
    });
    ranks.finish();
  }
  if (top.has("recompute_beyond")) {
    manifest.recomputeBeyond = parseIntegers(top, "recompute_beyond", 1);
    for (size_t i = 1; i < manifest.recomputeBeyond.size(); ++i)
      if (manifest.recomputeBeyond[i] <= manifest.recomputeBeyond[i - 1])
        top.fail("recompute_beyond", "has " + std::to_string(manifest.recomputeBeyond[i]) +
                                         " behind " +
                                         std::to_string(manifest.recomputeBeyond[i - 1]) +
                                         "; lengths ascend");
  }
  if (top.has("tokenizer") && !top.get("tokenizer").is_null()) {
    Object tokenizer = top.object("tokenizer");
    manifest.tokenizerFile = tokenizer.string("file");
    tokenizer.finish();
  }
  if (top.has("accepted"))
    top.objects("accepted", [&](Object &item) {
      manifest.accepted.push_back({item.string("key"), item.string("value")});
    });
}

} // namespace

Manifest parseManifest(std::string_view text, std::string_view name, Seal seal) {
  json root = detail::parseStrictJson(text, name);
  Object top(root, name, "");
  Manifest manifest;
  parseHead(top, manifest);
  if (seal == Seal::Checked)
    checkSeal(text, name);
  parseMemory(top, manifest);
  parseWeights(top, manifest);
  parseKernels(top, manifest);
  parseEntries(top, manifest);
  parseRest(top, manifest);
  top.finish();
  checkManifest(manifest, name);
  return manifest;
}

} // namespace llmc::rt
