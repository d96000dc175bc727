//===- VerifyRows.cpp - which rows does a value have ----------------------===//
#include "VerifyRows.h"

#include "llmc/Dialect/LLM/IR/Elements.h"
#include "llmc/Dialect/LLM/IR/LLMDialect.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace llmc::llm {

namespace {
enum class Rows { Tokens, Outputs };
} // namespace

static StringRef describe(Rows rows) {
  return rows == Rows::Tokens ? "a row for each token" : "only the rows that select_rows chose";
}

static bool isRows(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() >= 2 && type.isDynamicDim(0);
}

namespace {
class RowAnalysis {
public:
  explicit RowAnalysis(Operation *table) : symbols(table) {}
  LogicalResult visit(Block &block);

private:
  void set(Value value, Rows its) { rows[value] = its; }
  /// Arguments of functions have a row for each token.
  Rows of(Value value) const {
    auto found = rows.find(value);
    return found == rows.end() ? Rows::Tokens : found->second;
  }
  LogicalResult visit(Operation &op);
  LogicalResult visitRepeat(RepeatOp repeat);
  LogicalResult visitFusion(FusionOp fusion);

  SymbolTable symbols;
  llvm::DenseMap<Value, Rows> rows;
};
} // namespace

LogicalResult RowAnalysis::visit(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(visit(op)))
      return failure();
  return success();
}

LogicalResult RowAnalysis::visitRepeat(RepeatOp repeat) {
  for (Value carried : repeat.getCarried())
    if (isRows(carried) && of(carried) != Rows::Tokens)
      return repeat.emitOpError() << "carries " << describe(of(carried))
                                  << "; layers run on all tokens";
  bool runsOneLayer = repeat.getCallees().size() == 1 && repeat.getCount() == 1;
  for (Attribute callee : repeat.getCallees()) {
    auto function =
        symbols.lookup<FunctionOpInterface>(cast<FlatSymbolRefAttr>(callee).getValue());
    if (!function || function.isExternal())
      continue;
    // Arguments are rows of tokens, and so must be what is carried on.
    Block &body = function.getFunctionBody().front();
    if (failed(visit(body)))
      return failure();
    for (auto [given, result] :
         llvm::zip(body.getTerminator()->getOperands(), repeat.getResults())) {
      if (!isRows(given) || of(given) == Rows::Tokens)
        continue;
      if (!runsOneLayer)
        return body.getTerminator()->emitOpError()
               << "gives " << describe(of(given)) << " to the next layer";
      set(result, of(given));
    }
  }
  return success();
}

LogicalResult RowAnalysis::visitFusion(FusionOp fusion) {
  Block &body = fusion.getBody().front();
  for (auto [argument, input] : llvm::zip_equal(body.getArguments(), fusion.getInputs()))
    if (isRows(input))
      set(argument, of(input));
  if (failed(visit(body)))
    return failure();
  for (auto [yielded, result] :
       llvm::zip_equal(body.getTerminator()->getOperands(), fusion.getResults()))
    if (isRows(result))
      set(result, of(yielded));
  return success();
}

LogicalResult RowAnalysis::visit(Operation &op) {
  if (auto repeat = dyn_cast<RepeatOp>(op))
    return visitRepeat(repeat);
  if (auto fusion = dyn_cast<FusionOp>(op))
    return visitFusion(fusion);
  std::optional<Rows> all;
  for (OpOperand &operand : op.getOpOperands()) {
    if (!isRows(operand.get()) || fitsAnyRows(operand))
      continue;
    Rows own = of(operand.get());
    if (all && *all != own)
      return op.emitOpError() << "combines " << describe(*all) << " with " << describe(own);
    all = own;
  }
  Rows result = all.value_or(Rows::Tokens);
  bool needsTokens = isa<SelectRowsOp, RotaryOp, KVAppendOp, PagedAttentionOp,
                         SelectPositionsOp, PoolTokensOp, EntryAppendOp, SelectEntriesOp,
                         JointAttentionOp, CausalConvOp, TokenShiftOp, LinearAttentionOp>(op);
  // A table is read by token.
  if (auto route = dyn_cast<RouteOp>(op))
    needsTokens |= static_cast<bool>(route.getTable());
  if (needsTokens && result != Rows::Tokens)
    return op.emitOpError() << "needs a row for each token and has " << describe(result);
  if (isa<SelectRowsOp>(op))
    result = Rows::Outputs;
  for (Value value : op.getResults())
    if (isRows(value))
      set(value, result);
  return success();
}

LogicalResult verifyRows(FunctionOpInterface entry) {
  return RowAnalysis(SymbolTable::getNearestSymbolTable(entry))
      .visit(entry.getFunctionBody().front());
}

} // namespace llmc::llm
