//===- ExportManifest.cpp - a program as manifest.json --------------------===//
//
// Written by a stream and not from json::Object, whose keys come out sorted by
// name. Small objects take one line each, so that plans compare line by line.
//
//===----------------------------------------------------------------------===//

#include "llmc/Target/Manifest/Manifest.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;
using namespace llmc::plan;
using llvm::json::OStream;

/// Stands in the text while its digest is computed.
static const std::string noDigest(64, '0');

namespace {

class Exporter {
public:
  Exporter(ProgramOp program, OStream &json) : program(program), json(json), symbols(program) {}

  void run();

private:
  using Fields = llvm::function_ref<void(OStream &)>;

  template <typename OpT>
  auto getOps() {
    return program.getBody().front().getOps<OpT>();
  }

  /// An object on one line, as the next value of the stream.
  void line(Fields fields) {
    std::string text;
    llvm::raw_string_ostream os(text);
    OStream inner(os);
    inner.object([&] { fields(inner); });
    inner.flush();
    json.rawValue(text);
  }

  /// The list of all ops of a kind, a line each.
  template <typename OpT>
  void list(StringRef key, llvm::function_ref<void(OpT, OStream &)> fields) {
    json.attributeArray(key, [&] {
      for (OpT op : getOps<OpT>())
        line([&](OStream &out) { fields(op, out); });
    });
  }

  static void optional(OStream &out, StringRef key, std::optional<int64_t> value) {
    if (value)
      out.attribute(key, *value);
  }

  static void size(OStream &out, StringRef key, AffineMap map);
  static void items(OStream &out, ItemsAttr items);
  static void layers(OStream &out, LayersAttr layers);
  static void integers(OStream &out, StringRef key, ArrayRef<int64_t> values);
  static void strings(OStream &out, StringRef key, ArrayAttr values);
  static std::string element(Type type);

  void head();
  void memory();
  void weights(WeightsOp op, OStream &out);
  void states(StateOp op, OStream &out);
  void kernels();
  void contracts(ArrayAttr list, OStream &out);
  void entries();
  void steps(Block &block);
  void launch(LaunchOp op);
  void rest();

  ProgramOp program;
  OStream &json;
  SymbolTable symbols;
};

} // namespace

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

void Exporter::size(OStream &out, StringRef key, AffineMap map) {
  Size size = *Size::fromMap(map);
  out.attributeObject(key, [&] {
    if (size.constant || size == Size())
      out.attribute("const", size.constant);
    for (unsigned i = 0; i < kNumSizeSymbols; ++i)
      if (size.terms[i])
        out.attribute(getName(static_cast<SizeSymbol>(i)), size.terms[i]);
  });
}

void Exporter::items(OStream &out, ItemsAttr items) {
  out.object([&] {
    out.attribute("factor", items.getFactor());
    out.attribute("of", stringifyExtent(items.getOf()));
    if (items.getTile() != 1)
      out.attribute("tile", items.getTile());
    if (items.getPlus())
      out.attribute("plus", items.getPlus());
  });
}

void Exporter::layers(OStream &out, LayersAttr layers) {
  out.attributeArray("layers", [&] {
    for (size_t i = 0; layers && i < layers.getNumRanges(); ++i)
      out.array([&] {
        out.value(layers.getRange(i).first);
        out.value(layers.getRange(i).second);
      });
  });
}

void Exporter::integers(OStream &out, StringRef key, ArrayRef<int64_t> values) {
  out.attributeArray(key, [&] {
    for (int64_t value : values)
      out.value(value);
  });
}

void Exporter::strings(OStream &out, StringRef key, ArrayAttr values) {
  out.attributeArray(key, [&] {
    for (StringRef value : values.getAsValueRange<StringAttr>())
      out.value(value);
  });
}

std::string Exporter::element(Type type) {
  std::string name;
  llvm::raw_string_ostream(name) << type;
  return name;
}

//===----------------------------------------------------------------------===//
// Program
//===----------------------------------------------------------------------===//

void Exporter::run() {
  json.object([&] {
    head();
    memory();
    kernels();
    entries();
    rest();
  });
}

void Exporter::head() {
  json.attribute("format", "llmc.manifest");
  json.attributeBegin("version");
  json.rawValue(llvm::formatv("[{0}, {1}]", kManifestMajor, kManifestMinor).str());
  json.attributeEnd();
  json.attribute("digest", noDigest);
  json.attributeObject("producer", [&] {
    ProducerAttr producer = program.getProducer();
    json.attribute("name", producer.getName());
    json.attribute("version", producer.getVersion());
    json.attribute("toolchain", producer.getToolchain());
  });
  json.attributeObject("model", [&] {
    ModelAttr model = program.getModel();
    json.attribute("name", model.getName());
    json.attribute("architecture", model.getArchitecture());
    json.attribute("description", model.getDescription());
    json.attribute("vocab_size", model.getVocabSize());
    json.attribute("hidden_size", model.getHiddenSize());
    json.attribute("layers", model.getLayers());
    json.attribute("context_length", model.getContextLength());
    json.attribute("parameters", model.getParameters());
  });
  json.attributeObject("target", [&] {
    json.attribute("device", program.getTarget().getDevice());
    json.attribute("triple", program.getTarget().getTriple());
  });
  json.attributeObject("limits", [&] {
    LimitsAttr limits = program.getLimits();
    json.attribute("max_tokens", limits.getMaxTokens());
    json.attribute("max_sequences", limits.getMaxSequences());
    json.attribute("max_context", limits.getMaxContext());
    json.attribute("block_tokens", limits.getBlockTokens());
    json.attribute("blocks", limits.getBlocks());
    optional(json, "max_outputs", limits.getMaxOutputs());
    optional(json, "ring_blocks", limits.getRingBlocks());
  });
}

void Exporter::memory() {
  list<FileOp>("files", [](FileOp op, OStream &out) {
    out.attribute("path", op.getPath());
    out.attribute("bytes", op.getBytes());
    out.attribute("sha256", op.getSha256());
  });
  list<ArenaOp>("arenas", [](ArenaOp op, OStream &out) {
    out.attribute("name", op.getSymName());
    out.attribute("kind", stringifyArenaKind(op.getKind()));
    size(out, "size", *op.getSize());
    if (op.getFile())
      out.attribute("file", *op.getFile());
    if (op.getRankFiles())
      strings(out, "rank_files", *op.getRankFiles());
  });
  list<SliceOp>("slices", [](SliceOp op, OStream &out) {
    out.attribute("name", op.getSymName());
    out.attribute("arena", op.getArena());
    out.attribute("offset", *op.getOffset());
    size(out, "size", op.getSize());
    integers(out, "live", {op.getLiveAttr().getFirst(), op.getLiveAttr().getLast()});
  });
  list<WeightsOp>("weights", [&](WeightsOp op, OStream &out) { weights(op, out); });
  list<StateOp>("states", [&](StateOp op, OStream &out) { states(op, out); });
}

void Exporter::weights(WeightsOp op, OStream &out) {
  out.attribute("name", op.getSymName());
  out.attribute("arena", op.getArena());
  out.attribute("base", *op.getBase());
  out.attribute("stride", *op.getStride());
  out.attribute("bytes", op.getBytes());
  layers(out, op.getLayersAttr());
  out.attribute("rows", op.getRows());
  out.attribute("cols", op.getCols());
  if (op.getMatrices() != 1)
    out.attribute("matrices", op.getMatrices());
  out.attribute("storage", stringifyStorage(op.getStorage()));
  out.attributeObject("layout", [&] {
    llvm::TypeSwitch<Attribute>(op.getLayout())
        .Case([&](RowsAttr) { out.attribute("kind", "rows"); })
        .Case([&](PanelsAttr panels) {
          out.attribute("kind", "panels");
          out.attribute("tile", panels.getTile());
        });
  });
  out.attribute("interleave", op.getInterleave());
  out.attributeArray("sources", [&] {
    for (auto source : op.getSources().getAsRange<SourceAttr>())
      out.object([&] {
        if (DenseF32ArrayAttr values = source.getValues())
          out.attributeArray("values", [&] {
            for (float value : values.asArrayRef())
              out.value(double(value)); // with the digits that make it exact
          });
        else if (source.isZeros())
          out.attribute("zeros", true);
        else
          out.attribute("tensor", source.getTensor());
        if (source.getName())
          out.attribute("name", source.getName().getValue());
        out.attribute("rows", source.getRows());
        if (source.getOf()) {
          out.attribute("first_row", source.getFirst());
          out.attribute("of_rows", source.getOf());
        }
        if (source.getTransposed())
          out.attribute("transposed", true);
        if (ViewAttr view = source.getView())
          out.attributeObject("view", [&] {
            auto numbers = [&](StringRef key, ArrayRef<int64_t> list) {
              out.attributeArray(key, [&] {
                for (int64_t number : list)
                  out.value(number);
              });
            };
            numbers("stored", view.getStored());
            out.attribute("first", view.getFirst());
            numbers("strides", view.getStrides());
          });
      });
  });
}

void Exporter::states(StateOp op, OStream &out) {
  out.attribute("name", op.getSymName());
  out.attribute("arena", op.getArena());
  layers(out, op.getLayers());
  out.attribute("kind", stringifyStateKind(op.getKind()));
  out.attribute("heads", op.getHeads());
  out.attribute("key_width", op.getKeyWidth());
  out.attribute("value_width", op.getValueWidth());
  out.attribute("element", element(op.getElement()));
  optional(out, "bytes_per_block", op.getBytesPerBlock());
  optional(out, "bytes_per_sequence", op.getBytesPerSequence());
  optional(out, "window", op.getWindow());
}

void Exporter::kernels() {
  list<VariantOp>("variants", [](VariantOp op, OStream &out) {
    out.attribute("name", op.getSymName());
    out.attribute("suffix", op.getSuffix());
    strings(out, "requires", op.getFeatures());
  });
  list<KernelOp>("kernels", [&](KernelOp op, OStream &out) {
    out.attribute("name", op.getSymName());
    out.attribute("symbol", op.getSymbol());
    out.attribute("generator", op.getGenerator());
    out.attribute("scratch", op.getScratch());
    optional(out, "tokens_below", op.getTokensBelow());
    optional(out, "positions_below", op.getPositionsBelow());
    contracts(*op.getContracts(), out);
    if (DeviceAttr device = op.getDeviceAttr())
      out.attributeObject("device", [&] {
        out.attribute("file", device.getFile());
        out.attributeArray("grid", [&] {
          for (ItemsAttr dimension : device.getGrid())
            items(out, dimension);
        });
        integers(out, "block", device.getBlock());
        out.attribute("shared_bytes", device.getSharedBytes());
      });
  });
}

void Exporter::contracts(ArrayAttr list, OStream &out) {
  out.attributeArray("contracts", [&] {
    for (auto contract : list.getAsRange<ContractAttr>())
      out.object([&] {
        out.attributeBegin("items");
        items(out, contract.getItems());
        out.attributeEnd();
        out.attributeArray("operands", [&] {
          for (OperandAttr operand : contract.getOperands())
            out.object([&] {
              out.attribute("kind", stringifyMemoryKind(operand.getKind()));
              out.attribute("access", stringifyAccess(operand.getAccess()));
              size(out, "bytes", operand.getBytes());
            });
        });
      });
  });
}

void Exporter::rest() {
  if (program.getRanks() != 1 || !getOps<GroupOp>().empty())
    json.attributeObject("ranks", [&] {
      json.attribute("count", program.getRanks());
      list<GroupOp>("groups", [](GroupOp op, OStream &out) {
        out.attribute("name", op.getSymName());
        integers(out, "ranks", op.getRanks());
      });
    });
  if (std::optional<ArrayRef<int64_t>> lengths = program.getRecomputeBeyond())
    integers(json, "recompute_beyond", *lengths);
  if (program.getTokenizer())
    json.attributeObject("tokenizer", [&] { json.attribute("file", *program.getTokenizer()); });
  json.attributeArray("accepted", [&] {
    for (auto accepted : program.getAccepted().getAsRange<AcceptedAttr>())
      line([&](OStream &out) {
        out.attribute("key", accepted.getKey());
        out.attribute("value", accepted.getValue());
      });
  });
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

void Exporter::entries() {
  json.attributeArray("entries", [&] {
    for (EntryOp entry : getOps<EntryOp>())
      json.object([&] {
        Block &body = entry.getBody().front();
        json.attribute("name", entry.getSymName());
        json.attributeArray("outputs", [&] {
          for (auto output : body.getOps<OutputOp>())
            line([&](OStream &out) {
              out.attribute("name", output.getName());
              out.attribute("slice", output.getSlice());
              out.attribute("rows", stringifyExtent(output.getRows()));
              out.attribute("width", output.getWidth());
              out.attribute("element", element(output.getElement()));
            });
        });
        json.attributeArray("steps", [&] { steps(body); });
      });
  });
}

void Exporter::steps(Block &block) {
  for (Operation &op : block)
    llvm::TypeSwitch<Operation *>(&op)
        .Case([&](LaunchOp step) { launch(step); })
        .Case([&](RepeatOp step) {
          json.object([&] {
            json.attributeObject("repeat", [&] {
              json.attribute("from", step.getFrom());
              json.attribute("count", step.getCount());
              json.attribute("period", step.getPeriod());
              json.attributeArray("steps", [&] { steps(step.getBody().front()); });
            });
          });
        })
        .Case([&](ObserveOp step) {
          line([&](OStream &out) {
            out.attributeObject("observe", [&] {
              out.attribute("name", step.getName());
              out.attribute("slice", step.getSlice());
              out.attribute("rows", stringifyExtent(step.getRows()));
              out.attribute("width", step.getWidth());
              optional(out, "heads", step.getHeads());
              optional(out, "layer", step.getLayer());
            });
          });
        })
        .Case([&](CollectiveOp step) {
          line([&](OStream &out) {
            out.attributeObject("collective", [&] {
              out.attribute("kind", stringifyCollectiveKind(step.getKind()));
              out.attribute("slice", step.getSlice());
              out.attribute("group", step.getGroup());
              out.attribute("element", element(step.getElement()));
              size(out, "count", step.getCount());
            });
          });
        });
}

void Exporter::launch(LaunchOp op) {
  json.object([&] {
    json.attributeObject("launch", [&] {
      json.attribute("kernel", op.getKernel());
      json.attributeArray("operands", [&] {
        for (auto use : op.getUsesAttr().getAsRange<UseAttr>())
          line([&](OStream &out) {
            StringRef kind = llvm::TypeSwitch<Operation *, StringRef>(
                                 symbols.lookup(use.getSymbol().getValue()))
                                 .Case([](WeightsOp) { return "weights"; })
                                 .Case([](StateOp) { return "state"; })
                                 .Default([](Operation *) { return "slice"; });
            out.attribute(kind, use.getSymbol().getValue());
            out.attribute("access", stringifyAccess(use.getAccess()));
            optional(out, "layer", use.getLayer());
            optional(out, "fixed", use.getFixed());
          });
      });
      json.attributeBegin("items");
      std::string text;
      llvm::raw_string_ostream os(text);
      OStream inner(os);
      items(inner, op.getItems());
      inner.flush();
      json.rawValue(text);
      json.attributeEnd();
      if (op.getRemark())
        json.attribute("remark", *op.getRemark());
    });
  });
}

//===----------------------------------------------------------------------===//
// Entry point
//===----------------------------------------------------------------------===//

/// The manifest has no form for memory that is not placed yet.
static LogicalResult verifyPacked(ProgramOp program) {
  for (Operation &op : program.getBody().front()) {
    StringRef missing =
        llvm::TypeSwitch<Operation *, StringRef>(&op)
            .Case([](ArenaOp arena) { return arena.getSize() ? "" : "size"; })
            .Case([](SliceOp slice) {
              return !slice.getOffset() ? "offset" : !slice.getLiveAttr() ? "live" : "";
            })
            .Case([](WeightsOp weights) {
              return !weights.getBase() ? "base" : !weights.getStride() ? "stride" : "";
            })
            .Case([](KernelOp kernel) { return kernel.getContracts() ? "" : "contracts"; })
            .Default([](Operation *) { return ""; });
    if (!missing.empty())
      return op.emitOpError("has no ") << missing << ", which the manifest needs: run "
                                       << "plan-assign-liveness, plan-pack-arenas and "
                                       << "plan-derive-contracts first";
  }
  return success();
}

FailureOr<std::string> llmc::plan::exportManifest(ProgramOp program) {
  if (failed(verifyPacked(program)))
    return failure();
  std::string text;
  llvm::raw_string_ostream os(text);
  OStream json(os, /*IndentSize=*/2);
  Exporter(program, json).run();
  json.flush();
  os << '\n';
  std::string digest = llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(text)),
                                   /*LowerCase=*/true);
  std::string field = "\"digest\": \"";
  text.replace(text.find(field) + field.size(), digest.size(), digest);
  return text;
}
