//===- PlanTraffic.cpp - bytes that the launches of a step move -----------===//
#include "PlanTraffic.h"

#include "llmc/Conversion/LaunchFacts.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <map>

using namespace mlir;

namespace llmc {

using namespace plan;

Traffic &Traffic::operator+=(const Traffic &other) {
  weights += other.weights;
  state += other.state;
  rows += other.rows;
  ids += other.ids;
  return *this;
}

Traffic Traffic::operator*(double times) const {
  return {weights * times, state * times, rows * times, ids * times};
}

int64_t StepTraffic::launchesPerStep() const {
  int64_t sum = 0;
  for (const LaunchTraffic &launch : launches)
    sum += launch.runs;
  return sum;
}

std::string kindOf(LaunchOp launch, StringRef otherwise) {
  auto kind = launch->getAttrOfType<StringAttr>(layerKindAttrName);
  return (kind ? kind.getValue() : otherwise).str();
}

/// Distinct ones among `draws` random choices out of `count`, on average.
static double distinct(double count, double draws) {
  return count <= 1 ? count : count * -std::expm1(draws * std::log1p(-1 / count));
}

namespace {

/// A number of a kernel's parameters; 0 where it has none of that name.
int64_t parameter(KernelOp kernel, StringRef name) {
  auto config = kernel->getAttrOfType<DictionaryAttr>("plan.config");
  auto number = config ? config.getAs<IntegerAttr>(name) : IntegerAttr();
  return number ? number.getInt() : 0;
}

/// Walks the steps of a plan.
class Counter {
public:
  Counter(ProgramOp program, const TrafficStep &step)
      : program(program), symbols(program), step(step),
        sizes{step.tokens, step.outputs, 1, 0, 1} {}

  StepTraffic count();

private:
  void countLaunch(LaunchOp launch, int64_t runs, StringRef entry);
  void countCollective(CollectiveOp collective, int64_t runs);
  /// Of `columns` of each row, or of all where that is negative.
  double sliceBytes(SliceOp slice, int64_t columns, bool ofOutputs = false) const;
  double weightBytes(WeightsOp weights, KernelOp kernel) const;
  /// Positions of a paged state that a kernel reads; `number` counts its states.
  double positionsRead(KernelOp kernel, unsigned number) const;
  /// Members of a family that the runs of a use touch.
  double members(UseAttr use, int64_t runs) const { return use.getLayer() ? double(runs) : 1; }

  ProgramOp program;
  SymbolTable symbols;
  const TrafficStep &step;
  std::array<int64_t, kNumSizeSymbols> sizes;
  StepTraffic result;
  /// A family, and the layer in its repeat or the fixed one -> most bytes that one launch needs of
  /// a member, and members.
  struct Need {
    double read = 0, written = 0, members = 0;
  };
  llvm::MapVector<Attribute, std::map<std::string, Need>> weightNeeds, stateNeeds;
  /// Number of the repeat at hand: its layers are others than those of the next one.
  unsigned repeat = 0;

  std::string memberKey(UseAttr use) const {
    if (use.getFixed())
      return "fixed " + std::to_string(*use.getFixed());
    if (use.getLayer())
      return std::to_string(repeat) + " " + std::to_string(*use.getLayer());
    return "";
  }
  void need(llvm::MapVector<Attribute, std::map<std::string, Need>> &needs, UseAttr use,
            double read, double written, int64_t runs) {
    Need &known = needs[use.getSymbol()][memberKey(use)];
    known.read = std::max(known.read, read);
    known.written = std::max(known.written, written);
    known.members = members(use, runs);
  }
};

double Counter::sliceBytes(SliceOp slice, int64_t columns, bool ofOutputs) const {
  Size size = *Size::fromMap(slice.getSize());
  // Who works on rows of outputs takes those alone of the tokens' rows.
  std::array<int64_t, kNumSizeSymbols> touched = sizes;
  if (ofOutputs)
    touched[unsigned(SizeSymbol::Tokens)] = std::min(step.tokens, step.outputs);
  double all = double(size.evaluate(touched));
  if (columns < 0)
    return all;
  int64_t rows = size.getTerm(SizeSymbol::Tokens)    ? touched[unsigned(SizeSymbol::Tokens)]
                 : size.getTerm(SizeSymbol::Outputs) ? step.outputs
                                                     : 1;
  return std::min(all, double(rows) * double(columns) * 4);
}

double Counter::weightBytes(WeightsOp weights, KernelOp kernel) const {
  double bytes = double(weights.getBytes()), tokens = double(step.tokens);
  int64_t below = std::max(kernel.getTokensBelow().value_or(0),
                           kernel.getPositionsBelow().value_or(0));
  if (below > 0 && int64_t(weights.getRows()) >= below)
    return std::min(bytes, bytes / double(weights.getRows()) * tokens);
  int64_t experts = parameter(kernel, "experts"), chosen = parameter(kernel, "chosen");
  if (chosen > 0 && experts > 1 && int64_t(weights.getMatrices()) == experts)
    return bytes * distinct(double(experts), tokens * double(chosen)) / double(experts);
  return bytes;
}

double Counter::positionsRead(KernelOp kernel, unsigned number) const {
  double past = double(step.past), tokens = double(step.tokens), seen = past + tokens;
  double selected = double(parameter(kernel, "selected"));
  int64_t group = parameter(kernel, "group");
  // Positions of the first state, then entries of groups of them.
  if (group > 0 && number > 0)
    return selected > 0 ? std::min(seen, tokens * selected * double(group)) : seen;
  if (int64_t window = parameter(kernel, "window"); window > 0)
    seen = std::min(seen, tokens + double(window) - 1);
  if (int64_t chunk = parameter(kernel, "chunk"); chunk > 0)
    seen = std::min(seen, past + tokens - std::floor(past / double(chunk)) * double(chunk));
  if (selected > 0 && group == 0)
    seen = std::min(seen, tokens * selected);
  return seen;
}

void Counter::countLaunch(LaunchOp launch, int64_t runs, StringRef entry) {
  auto kernel = symbols.lookup<KernelOp>(launch.getKernel());
  LaunchTraffic traffic;
  traffic.launch = launch;
  traffic.runs = runs;
  traffic.kind = kindOf(launch, entry);
  auto columns = launch->getAttrOfType<DenseI64ArrayAttr>(touchedColumnsAttrName);
  if (kernel.getTokensBelow())
    traffic.bytes.ids += 4 * double(step.tokens);
  unsigned states = 0;
  for (auto [i, use] : llvm::enumerate(launch.getUsesAttr().getAsRange<UseAttr>())) {
    Operation *target = symbols.lookup(use.getSymbol().getValue());
    double times = double(use.reads()) + double(use.writes());
    if (auto slice = dyn_cast<SliceOp>(target)) {
      bool isKnown = columns && columns.size() == 2 * int64_t(launch.getUsesAttr().size());
      bool ofOutputs = launch.getItems().getOf() == Extent::Outputs;
      if (use.reads())
        traffic.bytes.rows += sliceBytes(slice, isKnown ? columns[2 * i] : -1, ofOutputs);
      if (use.writes())
        traffic.bytes.rows += sliceBytes(slice, isKnown ? columns[2 * i + 1] : -1, ofOutputs);
    } else if (auto weights = dyn_cast<WeightsOp>(target)) {
      double bytes = weightBytes(weights, kernel);
      traffic.bytes.weights += bytes;
      need(weightNeeds, use, bytes, 0, runs);
    } else if (auto state = cast<StateOp>(target); state.isPerSequence()) {
      double bytes = double(state.getBytesPerSequence().value_or(0));
      traffic.bytes.state += times * bytes;
      need(stateNeeds, use, use.reads() ? bytes : 0, use.writes() ? bytes : 0, runs);
    } else {
      double position = double(state.getBytesPerBlock().value_or(0)) /
                        double(program.getLimits().getBlockTokens());
      // Who writes blocks adds the step's tokens to them and reads nothing.
      double read = use.writes() ? 0 : position * positionsRead(kernel, states++);
      double written = use.writes() ? position * double(step.tokens) : 0;
      traffic.bytes.state += read + written;
      need(stateNeeds, use, read, written, runs);
    }
  }
  result.moved += traffic.bytes * double(runs);
  result.least.ids = std::max(result.least.ids, traffic.bytes.ids);
  result.launches.push_back(std::move(traffic));
}

/// Read and written in place; what the links carry is not the processor's.
void Counter::countCollective(CollectiveOp collective, int64_t runs) {
  auto slice = symbols.lookup<SliceOp>(collective.getSlice());
  result.moved.rows += 2 * double(runs) * sliceBytes(slice, -1);
}

StepTraffic Counter::count() {
  for (auto entry : program.getBody().front().getOps<EntryOp>()) {
    auto countStep = [&](Operation *op, int64_t runs) {
      if (auto launch = dyn_cast<LaunchOp>(op))
        countLaunch(launch, runs, entry.getSymName());
      else if (auto collective = dyn_cast<CollectiveOp>(op))
        countCollective(collective, runs);
    };
    for (Operation &op : entry.getBody().front()) {
      auto loop = dyn_cast<RepeatOp>(op);
      if (!loop) {
        countStep(&op, 1);
        if (auto output = dyn_cast<OutputOp>(op))
          result.least.rows += sliceBytes(symbols.lookup<SliceOp>(output.getSlice()), -1);
        continue;
      }
      ++repeat;
      for (Operation &inner : loop.getBody().front())
        countStep(&inner, int64_t(loop.getCount()));
    }
  }
  for (auto &[symbol, needs] : weightNeeds)
    for (auto &[key, bytes] : needs)
      result.least.weights += bytes.read * bytes.members;
  for (auto &[symbol, needs] : stateNeeds)
    for (auto &[key, bytes] : needs)
      // What a layer reads of another's is a member that is counted there.
      if (!StringRef(key).starts_with("fixed"))
        result.least.state += (bytes.read + bytes.written) * bytes.members;
  return std::move(result);
}

} // namespace

StepTraffic trafficOf(ProgramOp program, const TrafficStep &step) {
  return Counter(program, step).count();
}

} // namespace llmc
