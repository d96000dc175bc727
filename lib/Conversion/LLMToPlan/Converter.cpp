//===- Converter.cpp - functions, repeats and buffers ---------------------===//
#include "Converter.h"

#include "CheckProgram.h"

#include "llmc/Dialect/LLM/Transforms/Fusion.h"
#include "llmc/Kernels/UserKernelClaims.h"
#include "llmc/Support/LayerName.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;

namespace llmc {

using namespace llm;

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

static std::string unique(llvm::StringMap<unsigned> &names, StringRef name) {
  std::string free = name.str();
  for (unsigned i = 1; names.count(free); ++i)
    free = (name + "." + Twine(i)).str();
  names[free]++;
  return free;
}

/// `factor` bytes a row.
static AffineMap bytesPer(MLIRContext *context, plan::Extent rows, int64_t factor) {
  plan::SizeSymbol symbol = rows == plan::Extent::Tokens    ? plan::SizeSymbol::Tokens
                            : rows == plan::Extent::Outputs ? plan::SizeSymbol::Outputs
                                                            : plan::SizeSymbol::Sequences;
  return plan::Size::of(symbol, factor).getMap(context);
}

RowBuffer Converter::newBuffer(StringRef name, int64_t width, plan::Extent rows,
                               StringRef arena) {
  RowBuffer buffer;
  buffer.slice = unique(names, name);
  buffer.stride = buffer.width = width;
  buffer.rows = rows;
  plan::SliceOp::create(declare, module.getLoc(), buffer.slice, arena,
                        bytesPer(module.getContext(), rows, width * 4));
  return buffer;
}

FailureOr<RowBuffer> Converter::bufferOf(Value value, Operation *user) {
  auto found = buffers.find(value);
  if (Value rows = found == buffers.end() ? weightRowsBehind(value) : Value()) {
    // Only now is it known that somebody needs a weight's rows in memory.
    if (!buffers.contains(rows) && failed(lowerRows(makeUnit(rows.getDefiningOp()))))
      return failure();
    if (rows != value)
      bind(value, RowBuffer(buffers[rows]));
    found = buffers.find(value);
  }
  if (found == buffers.end())
    return user->emitError("operand has no memory yet; it is defined by ")
           << (value.getDefiningOp() ? value.getDefiningOp()->getName().getStringRef()
                                     : StringRef("an argument"));
  return found->second;
}

void Converter::bind(Value value, const RowBuffer &buffer) {
  buffers[value] = buffer;
  residents[buffer.slice].push_back(value);
}

bool Converter::diesAt(const RowBuffer &buffer, Operation *op) {
  if (kept.lookup(buffer.slice)) {
    refused(op->getLoc(), "in-place", "all layers read the operand");
    return false;
  }
  for (Value value : residents[buffer.slice]) {
    if (!buffers[value].overlaps(buffer))
      continue;
    for (Operation *user : value.getUsers())
      if (user->getBlock() == op->getBlock() && op->isBeforeInBlock(user)) {
        refused(op->getLoc(), "in-place",
                "the operand is read again by " + user->getName().getStringRef());
        return false;
      }
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

plan::UseAttr Converter::use(StringRef symbol, plan::Access access, bool perLayer) {
  return plan::UseAttr::get(module.getContext(), symbol, access,
                            perLayer ? layer : std::optional<int64_t>());
}

plan::ItemsAttr Converter::items(int64_t factor, plan::Extent of, int64_t tile) {
  return plan::ItemsAttr::get(module.getContext(), factor, of, tile, 0);
}

void Converter::launch(Location loc, const kernels::KernelChoice &kernel,
                       ArrayRef<plan::UseAttr> uses, plan::ItemsAttr items, StringRef what) {
  std::string &name = knownKernels[kernel.symbol];
  if (name.empty()) {
    name = kernel.symbol;
    if (target->isGPU()) {
      declareDeviceKernel(loc, kernel, items);
    } else {
      auto op = plan::KernelOp::create(declare, loc, name, kernel.symbol, kernel.generator,
                                       kernel.scratch);
      op->setAttr("plan.config", kernel.config);
      if (kernel.tokensBelow)
        op.setTokensBelow(kernel.tokensBelow);
      if (kernel.positionsBelow)
        op.setPositionsBelow(kernel.positionsBelow);
    }
  }
  describeLaunch(plan::LaunchOp::create(step, loc, name, uses, items, what), kernel, what);
}

//===----------------------------------------------------------------------===//
// Functions and repeats
//===----------------------------------------------------------------------===//

Unit Converter::makeUnit(Operation *op) {
  Unit unit;
  unit.op = op;
  auto fusion = dyn_cast<FusionOp>(op);
  if (!fusion) {
    unit.ops.push_back(op);
    return unit;
  }
  Block &body = fusion.getBody().front();
  for (auto [argument, input] : llvm::zip(body.getArguments(), fusion.getInputs()))
    unit.outer[argument] = input;
  for (auto [yielded, result] :
       llvm::zip(body.getTerminator()->getOperands(), fusion.getResults()))
    unit.outer[yielded] = result;
  for (Operation &inner : body.without_terminator())
    unit.ops.push_back(&inner);
  return unit;
}

/// Neither a tuned nor a generic kernel takes the unit.
static LogicalResult refuseUnit(const Unit &unit, const Refusal &refusal) {
  InFlightDiagnostic error = refusal.op->emitOpError(refusal.reason);
  auto fusion = dyn_cast<FusionOp>(unit.op);
  if (!fusion)
    return error;
  error << "; no kernel computes fusion '" << fusion.getPattern() << "', which has it";
  if (findFusionPattern(fusion.getPattern()))
    error << ": --disable-fusion=" << fusion.getPattern() << " leaves its operations apart";
  return error;
}

LogicalResult Converter::lowerUnit(const Unit &unit) {
  if (options.generic && canBeGeneric(unit)) {
    refused(unit.op->getLoc(), "tuned-kernel", "generic kernels are preferred (--generators=generic)");
    return lowerGeneric(unit);
  }
  if (std::optional<Refusal> refusal = whyNotTuned(unit)) {
    if (!canBeGeneric(unit))
      return refuseUnit(unit, *refusal);
    refused(unit.op->getLoc(), "tuned-kernel",
            refusal->op->getName().getStringRef() + ": " + refusal->reason);
    return lowerGeneric(unit);
  }
  auto has = [&](auto... kinds) {
    return llvm::any_of(unit.ops, [&](Operation *op) { return (isa<decltype(kinds)>(op) || ...); });
  };
  if (has(RouteOp()))
    return has(LinearOp()) ? lowerRouter(unit) : lowerRoute(unit);
  if (has(LinearOp(), OutputHeadOp()))
    return lowerLinear(unit);
  if (has(ExpertLinearOp()))
    return lowerExpertLinear(unit);
  if (has(ExpertSumOp(), ExpertSpreadOp()))
    return lowerExpertCombine(unit);
  if (has(RotaryOp(), KVAppendOp()))
    return lowerPrologue(unit);
  if (has(EntryAppendOp()))
    return lowerEntryAppend(unit);
  if (has(PagedAttentionOp(), JointAttentionOp()))
    return lowerAttention(unit);
  if (has(SelectPositionsOp(), SelectEntriesOp()))
    return lowerSelect(unit);
  if (has(SinkhornOp()))
    return lowerSinkhorn(unit);
  if (has(HeadLinearOp()))
    return lowerHeadLinear(unit);
  if (has(CausalConvOp()))
    return lowerConv(unit);
  if (has(TokenShiftOp()))
    return lowerTokenShift(unit);
  if (has(PoolTokensOp()))
    return lowerPool(unit);
  if (has(LinearAttentionOp()))
    return lowerLinearAttention(unit);
  if (has(EmbeddingOp(), PositionEmbeddingOp()))
    return lowerEmbedding(unit);
  return lowerRows(unit);
}

LogicalResult Converter::convertOp(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](ParamOp param) { return success(succeeded(layerNumber(param, param.getLayer()))); })
      .Case<func::ReturnOp>([](Operation *) { return success(); })
      .Case([&](StateOp state) -> LogicalResult {
        auto plan = stateOf(state.getResult());
        if (failed(plan))
          return failure();
        caches[state.getResult()] = *plan;
        return success();
      })
      .Case<arith::ConstantOp>([](Operation *) { return success(); })
      .Case<SplitHeadsOp, MergeHeadsOp>([&](auto view) -> LogicalResult {
        if (weightBehind(view.getInput()))
          return success();
        auto buffer = bufferOf(view.getInput(), view);
        if (failed(buffer))
          return failure();
        bind(view.getResult(), *buffer);
        return success();
      })
      .Case<WeightRowsOp>([](Operation *) { return success(); })
      .Case([&](NoPositionsOp op) { return lowerNoPositions(op); })
      .Case([&](SliceOp slice) { return lowerSlice(slice); })
      .Case([&](TakeOp take) { return lowerTake(take); })
      .Case([&](PutOp put) { return lowerPut(put); })
      .Case([&](ConcatOp concat) { return lowerConcat(concat); })
      .Case([&](TransposeOp transpose) { return lowerTranspose(transpose); })
      .Case([&](RepeatOp repeat) { return convertRepeat(repeat); })
      .Case([&](ObserveOp observe) { return convertObserve(observe); })
      .Case([&](shard::AllReduceOp reduce) { return convertAllReduce(reduce); })
      .Default([&](Operation *other) -> LogicalResult {
        if (auto fusion = dyn_cast<FusionOp>(other);
            fusion && fusion.getPattern() == kernels::userKernelPattern)
          return lowerUserKernel(fusion);
        if (!isa_and_nonnull<LLMDialect>(other->getDialect()))
          return other->emitOpError("has no lowering to the plan: only operations of llm have; the "
                                    "pass that writes it as those is named with --phase-pass "
                                    "(docs/Extending.md)");
        if (failed(lowerUnit(makeUnit(other))))
          return failure();
        if (!refusal.empty())
          return other->emitOpError("has no kernel for ") << StringRef(target->name) << ": " << refusal;
        return success();
      });
}

LogicalResult Converter::checkOperands(Operation *op) {
  for (Value operand : op->getOperands())
    if (auto found = buffers.find(operand); found != buffers.end())
      if (failed(contents.check(operand, found->second, op)))
        return failure();
  return success();
}

void Converter::noteResults(Operation *op, bool hasSteps) {
  for (Value result : op->getResults())
    if (auto found = buffers.find(result); found != buffers.end())
      hasSteps ? contents.write(result, found->second) : contents.alias(result, found->second);
}

LogicalResult Converter::convertBlock(Block &block) {
  auto lastStep = [&]() -> Operation * {
    Block *steps = step.getInsertionBlock();
    return steps->empty() ? nullptr : &steps->back();
  };
  for (Operation &op : block) {
    Operation *before = lastStep();
    if (failed(checkOperands(&op)) || failed(convertOp(&op)))
      return failure();
    noteResults(&op, lastStep() != before);
  }
  return success();
}

LogicalResult Converter::convertObserve(ObserveOp observe) {
  auto buffer = bufferOf(observe.getValue(), observe);
  if (failed(buffer))
    return failure();
  auto number = layerNumber(observe, observe.getLayer());
  if (failed(number))
    return failure();
  RowBuffer seen = *buffer;
  if (!seen.isWholeSlice()) {
    seen = newBuffer("observed", buffer->width, buffer->rows);
    if (failed(copyRows(*buffer, seen, observe.getLoc(), "what is observed is rows of its own")))
      return failure();
  }
  std::string name = *number ? resolveLayer(observe.getName(), **number) : observe.getName().str();
  bool ofLayer = observe.getLayer() && !*number;
  if (ofLayer && !layer)
    return observe.emitOpError("names the layer at hand outside of layers");
  auto shape = cast<RankedTensorType>(observe.getValue().getType()).getShape();
  plan::ObserveOp::create(step, observe.getLoc(), name, seen.slice, seen.rows, seen.width,
                          ofLayer ? layer : std::optional<int64_t>(),
                          shape.size() == 3 ? std::optional(shape[1]) : std::nullopt);
  return success();
}

LayersAttr Converter::layersOf(func::FuncOp function) {
  return LayersAttr::fromList(module.getContext(), layersOfFunctions(module).lookup(function));
}

/// Where the carried values lie while layers run: memory of their own, whole slices.
FailureOr<SmallVector<RowBuffer>> Converter::carriedBuffers(RepeatOp repeat) {
  SmallVector<RowBuffer> buffers;
  for (Value value : repeat.getCarried()) {
    auto carried = bufferOf(value, repeat);
    if (failed(carried))
      return failure();
    bool shared = llvm::any_of(buffers, [&](const RowBuffer &other) {
      return other.slice == carried->slice;
    });
    for (Value invariant : repeat.getInvariants())
      if (auto known = this->buffers.find(invariant); known != this->buffers.end())
        shared |= known->second.slice == carried->slice;
    if (shared || !carried->isWholeSlice() || !diesAt(*carried, repeat)) {
      RowBuffer own = newBuffer("stream", carried->width, carried->rows);
      if (failed(copyRows(*carried, own, repeat.getLoc(),
                          "layers change the stream, and what enters them is still needed")))
        return failure();
      carried = own;
    }
    buffers.push_back(*carried);
  }
  return buffers;
}

/// Moves what a layer gives to where the next one looks for it. Rows that the last layer chose
/// (llm-verify-model) stay where they are: `carried` says where that is.
LogicalResult Converter::returnCarried(Operation *terminator,
                                       MutableArrayRef<RowBuffer> carried) {
  SmallVector<RowBuffer> results;
  for (Value value : terminator->getOperands()) {
    auto out = bufferOf(value, terminator);
    if (failed(out))
      return failure();
    results.push_back(*out);
  }
  for (auto [out, place] : llvm::zip_equal(results, carried))
    if (out.rows != place.rows)
      place = out;
  // A result that lies where another has to go is saved first.
  for (auto [i, out] : llvm::enumerate(results)) {
    bool inTheWay = llvm::any_of(llvm::enumerate(carried), [&, i = i, &out = out](auto other) {
      return other.index() != i && other.value().overlaps(out);
    });
    if (!inTheWay)
      continue;
    RowBuffer own = newBuffer("carried", out.width, out.rows);
    if (failed(copyRows(out, own, terminator->getLoc(),
                        "the next layer looks for another value where this one is")))
      return failure();
    out = own;
  }
  for (auto [out, place] : llvm::zip_equal(results, carried))
    if (!(out == place) && failed(copyRows(out, place, terminator->getLoc(),
                                           "the next layer looks for the value elsewhere")))
      return failure();
  return success();
}

LogicalResult Converter::convertRepeat(RepeatOp repeat) {
  auto carried = carriedBuffers(repeat);
  if (failed(carried))
    return failure();
  // What every layer reads is written by none, not even behind its last use in a layer.
  SmallVector<std::pair<unsigned, RowBuffer>> invariants;
  for (auto [i, value] : llvm::enumerate(repeat.getInvariants())) {
    if (!isa<RankedTensorType>(value.getType()) ||
        cast<RankedTensorType>(value.getType()).getElementType().isInteger())
      continue;
    auto buffer = bufferOf(value, repeat);
    if (failed(buffer))
      return failure();
    invariants.push_back({unsigned(i), *buffer});
    kept[buffer->slice]++;
  }
  int64_t period = int64_t(repeat.getCallees().size());
  auto loop = plan::RepeatOp::create(step, repeat.getLoc(), repeat.getFrom(), repeat.getCount(),
                                     period);
  OpBuilder::InsertionGuard guard(step);
  step.setInsertionPointToEnd(&loop.getBody().front());
  for (auto [j, callee] : llvm::enumerate(repeat.getCallees().getAsRange<FlatSymbolRefAttr>())) {
    auto function = symbols.lookup<func::FuncOp>(callee.getValue());
    if (!function || function.isExternal())
      return repeat.emitError("callee @") << callee.getValue() << " has no body";
    layer = int64_t(j);
    runsOfPlace = int64_t(repeat.getCount());
    functionLayers = layersOf(function);
    functionName = function.getSymName().str();
    Block &body = function.getBody().front();
    // The same function may be converted again for another place: its values get new memory.
    body.walk([&](Operation *op) {
      for (Value result : op->getResults()) {
        buffers.erase(result);
        contents.forget(result);
      }
    });
    for (auto &resident : residents)
      llvm::erase_if(resident.second, [&](Value value) { return !buffers.contains(value); });
    for (auto [i, place] : llvm::enumerate(*carried)) {
      bind(body.getArgument(unsigned(i) + 1), place);
      contents.write(body.getArgument(unsigned(i) + 1), place);
    }
    for (auto &[i, place] : invariants) {
      bind(body.getArgument(unsigned(carried->size()) + 1 + i), place);
      contents.alias(body.getArgument(unsigned(carried->size()) + 1 + i), place);
    }
    if (failed(convertBlock(body)) || failed(returnCarried(body.getTerminator(), *carried)))
      return failure();
    // The next layer reads it too.
    for (auto &[i, place] : invariants)
      if (failed(contents.check(body.getArgument(unsigned(carried->size()) + 1 + i), place,
                                body.getTerminator())))
        return failure();
  }
  layer.reset();
  runsOfPlace = 0;
  functionLayers = {};
  functionName = repeat->getParentOfType<func::FuncOp>().getSymName().str();
  for (auto &[i, place] : invariants)
    kept[place.slice]--;
  for (auto [result, place] : llvm::zip_equal(repeat.getResults(), *carried))
    bind(result, place);
  return success();
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

void Converter::declareArenas() {
  auto arena = [&](StringRef name, plan::ArenaKind kind, StringRef file = {}) {
    names[name]++;
    return plan::ArenaOp::create(declare, module.getLoc(), name, kind, AffineMap(), file);
  };
  if (ranks == 1) {
    arena("weights", plan::ArenaKind::Weights, "weights.bin");
  } else {
    SmallVector<std::string> files;
    for (int64_t rank = 0; rank < ranks; ++rank)
      files.push_back("weights.rank" + std::to_string(rank) + ".bin");
    SmallVector<StringRef> views(files.begin(), files.end());
    arena("weights", plan::ArenaKind::Weights).setRankFilesAttr(declare.getStrArrayAttr(views));
  }
  arena("state", plan::ArenaKind::State);
  arena("activations", plan::ArenaKind::Activations);
  arena("workspace", plan::ArenaKind::Workspace);
}

/// Rows that the entry takes were put there by somebody else.
void Converter::bindArguments(Block &block) {
  bool any = false;
  for (BlockArgument argument : block.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || !isa<FloatType>(type.getElementType()) || type.getRank() < 2)
      continue;
    if (!std::exchange(any, true)) {
      plan::ArenaOp::create(declare, module.getLoc(), "communication",
                            plan::ArenaKind::Communication, AffineMap(), StringRef());
      names["communication"]++;
    }
    int64_t width = ShapedType::getNumElements(type.getShape().drop_front());
    bind(argument, newBuffer("input", width, plan::Extent::Tokens, "communication"));
  }
}

LogicalResult Converter::run() {
  MLIRContext *context = module.getContext();
  func::FuncOp main;
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr("llm.entry"))
      main = function;
  if (!main)
    return module.emitError("has no function marked llm.entry, which runs a step; to run passes "
                            "on other functions, name them with --pass-pipeline and no --emit");
  auto facts = module->getAttrOfType<DictionaryAttr>("llm.model");
  if (!facts)
    return module.emitError("has no llm.model facts");
  if (failed(checkProgram(main)))
    return failure();
  auto number = [&](StringRef name) -> int64_t {
    auto attr = facts.getAs<IntegerAttr>(name);
    return attr ? attr.getInt() : 0;
  };
  auto text = [&](StringRef name) {
    auto attr = facts.getAs<StringAttr>(name);
    return attr ? attr.getValue() : StringRef();
  };

  int64_t context_length = std::max<int64_t>(number("context_length"), 1);
  if (number("context_length") > 0 && options.maxContext > context_length)
    return module.emitError("max-context is ")
           << options.maxContext << ", more than the " << context_length
           << " positions that the model was made for; give at most that many";
  int64_t bounded = number("bounded_context");
  if (bounded > 0 && options.maxContext > bounded)
    return module.emitError("max-context is ")
           << options.maxContext << ", but llm-simplify left out what only sequences of more than "
           << bounded << " positions need; start from the model again, or normalize without the "
           << "simplifications unreached-* (--disable-simplification)";
  maxContext = options.maxContext ? options.maxContext
                                  : std::min<int64_t>(context_length, 4096);
  if (bounded > 0)
    maxContext = std::min(maxContext, bounded);
  int64_t blocks = options.blocks
                       ? options.blocks
                       : (maxContext + options.blockTokens - 1) / options.blockTokens;
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  auto model = plan::ModelAttr::get(context, text("name").empty() ? text("architecture") : text("name"),
                                    text("architecture"), text("description"), number("vocab_size"),
                                    number("hidden_size"), std::max<int64_t>(number("layers"), 1),
                                    context_length, number("parameters"));
  auto limits = plan::LimitsAttr::get(context, options.maxTokens, options.maxSequences, maxContext,
                                      options.blockTokens, blocks,
                                      std::min(options.maxTokens, options.maxOutputs),
                                      std::nullopt);
  auto producer = plan::ProducerAttr::get(context, "llmc", LLMC_VERSION, LLMC_TOOLCHAIN);
  target = findTarget(options.target);
  if (!target)
    return module.emitError("has no target '") << options.target << "'; known: " << targetNames();
  if (failed(findRanks()))
    return failure();
  auto device = plan::TargetAttr::get(
      context, options.device.empty() ? options.target : options.device,
      target->triple.empty() ? llvm::sys::getDefaultTargetTriple() : std::string(target->triple));
  program = plan::ProgramOp::create(b, module.getLoc(), producer, model, device,
                                    boundStates(limits), ranks);
  SmallVector<Attribute> accepted;
  if (int64_t folded = number("folded_scales"))
    accepted.push_back(plan::AcceptedAttr::get(context, "fold-scales",
                                               std::to_string(folded) + " constant factors"));
  if (auto libraries = facts.getAs<ArrayAttr>("op_libraries"))
    for (auto file : libraries.getAsRange<ArrayAttr>())
      accepted.push_back(plan::AcceptedAttr::get(
          context, ("op-library " + cast<StringAttr>(file[0]).getValue()).str(),
          ("sha256 " + cast<StringAttr>(file[1]).getValue()).str()));
  program.setAcceptedAttr(b.getArrayAttr(accepted));
  declare.setInsertionPointToEnd(&program.getBody().front());
  names[main.getName()]++;
  functionName = main.getName().str();
  declareArenas();
  OpBuilder entryBuilder = OpBuilder::atBlockEnd(&program.getBody().front());
  entry = plan::EntryOp::create(entryBuilder, main.getLoc(), main.getName());
  declare.setInsertionPoint(entry);
  step.setInsertionPointToEnd(&entry.getBody().front());

  bindArguments(main.getBody().front());
  if (failed(convertBlock(main.getBody().front())))
    return failure();
  if (main.getNumResults() == 1)
    if (auto logits = dyn_cast<RankedTensorType>(main.getResultTypes().front());
        logits && number("vocab_size") > 0 && logits.getShape().back() != number("vocab_size"))
      return main.emitError("returns ")
             << logits.getShape().back() << " logits a row, llm.model says vocab_size = "
             << number("vocab_size") << "; the two have to agree";
  OperandRange results = main.getBody().front().getTerminator()->getOperands();
  for (auto [i, logits] : llvm::enumerate(results)) {
    auto buffer = bufferOf(logits, main);
    if (failed(buffer))
      return failure();
    if (!buffer->isWholeSlice()) {
      RowBuffer own = newBuffer("output", buffer->width, buffer->rows);
      if (failed(copyRows(*buffer, own, main.getLoc(), "an output is rows of its own")))
        return failure();
      buffer = own;
    }
    std::string name = results.size() == 1 ? "logits" : "output." + std::to_string(i);
    plan::OutputOp::create(step, main.getLoc(), name, buffer->slice, buffer->rows,
                           buffer->width, Float32Type::get(context));
  }
  for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
    if (&op != program.getOperation())
      op.erase();
  if (!recomputeBeyond.empty())
    program.setRecomputeBeyond(
        SmallVector<int64_t>(recomputeBeyond.begin(), recomputeBeyond.end()));
  module->removeAttr("llm.model");
  return success();
}

} // namespace llmc
