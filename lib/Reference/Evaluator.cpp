//===- Evaluator.cpp - runs llm programs on host tensors ------------------===//
#include "llmc/Reference/Evaluator.h"
#include "llmc/Support/LayerName.h"

using namespace llmc::reference;
namespace llm = llmc::llm;

/// Calls that nest deeper than this are a function that calls itself.
static constexpr unsigned maxDepth = 64;

int64_t Step::add(int64_t sequence, int64_t start, llvm::ArrayRef<int32_t> added) {
  int64_t row = int64_t(tokens.size());
  batch.sequences.push_back({sequence, start, int64_t(added.size())});
  tokens.insert(tokens.end(), added.begin(), added.end());
  return row;
}

template <typename T>
Evaluator<T>::Evaluator(mlir::ModuleOp module, WeightSource &weights, EvaluatorOptions options)
    : module(module), symbols(module), options(options),
      weights(weights, options.weightBytes) {}

template <typename T>
llvm::Expected<typename Evaluator<T>::Values>
Evaluator<T>::evaluateFunction(llvm::StringRef name, llvm::ArrayRef<HostValue<T>> inputs) {
  mlir::func::FuncOp function = lookupFunction(name);
  if (!function)
    return errorAt(module, "has no function @" + name);
  for (auto &[member, state] : states)
    state->versionBeforeStep = state->version;
  return call(function, inputs);
}

template <typename T>
llvm::Expected<HostTensor<T>> Evaluator<T>::evaluateStep(const Step &step) {
  mlir::func::FuncOp entry;
  for (mlir::func::FuncOp function : module.getOps<mlir::func::FuncOp>()) {
    if (!function->hasAttr("llm.entry"))
      continue;
    if (entry)
      return errorAt(function, "is a second entry beside @" + entry.getSymName());
    entry = function;
  }
  if (!entry)
    return errorAt(module, "has no entry: no function has the attribute llm.entry");
  if (step.batch.tokens() != int64_t(step.tokens.size()))
    return errorAt(entry, "gets " + llvm::Twine(step.tokens.size()) + " tokens for a batch of " +
                              llvm::Twine(step.batch.tokens()));
  Values inputs;
  for (mlir::Type type : entry.getArgumentTypes()) {
    if (mlir::isa<llm::BatchType>(type))
      inputs.push_back(makeBatch<T>(step.batch));
    else
      inputs.push_back(makeTokens<T>(step.tokens));
  }
  llvm::Expected<Values> results = evaluateFunction(entry.getSymName(), inputs);
  if (!results)
    return results.takeError();
  using Pointer = std::shared_ptr<const HostTensor<T>>;
  if (results->empty() || !std::holds_alternative<Pointer>(results->front()))
    return errorAt(entry, "returns no tensor");
  return *std::get<Pointer>(results->front());
}

template <typename T> void Evaluator<T>::release(int64_t sequence) {
  for (auto &[member, state] : states)
    state->sequences.erase(sequence);
}

template <typename T>
llvm::Expected<typename Evaluator<T>::Values>
Evaluator<T>::call(mlir::func::FuncOp function, llvm::ArrayRef<HostValue<T>> inputs) {
  if (!function.getBody().hasOneBlock())
    return errorAt(function, "@" + function.getSymName() + " needs a body of one block");
  if (depth == maxDepth)
    return errorAt(function, "@" + function.getSymName() + " calls itself");
  ++depth;
  llvm::Expected<Values> results = runBlock(function.getBody().front(), inputs);
  --depth;
  return results;
}

template <typename T>
llvm::Expected<typename Evaluator<T>::Values>
Evaluator<T>::runBlock(mlir::Block &block, llvm::ArrayRef<HostValue<T>> inputs) {
  mlir::Operation *parent = block.getParentOp();
  if (inputs.size() != block.getNumArguments())
    return errorAt(parent, "gets " + llvm::Twine(inputs.size()) + " inputs, it takes " +
                               llvm::Twine(block.getNumArguments()));
  Environment<T> environment;
  for (auto [argument, input] : llvm::zip(block.getArguments(), inputs)) {
    if (std::string fault = mismatch(input, argument.getType()); !fault.empty())
      return errorAt(parent, "argument " + llvm::Twine(argument.getArgNumber()) + ": " + fault);
    environment[argument] = input;
  }
  for (mlir::Operation &op : block) {
    OpContext<T> context(*this, &op, environment);
    if (op.hasTrait<mlir::OpTrait::IsTerminator>())
      return context.values(op.getOperands());
    llvm::StringRef name = op.getName().getStringRef();
    const Rule<T> *rule = RuleTable<T>::global().lookup(name);
    if (!rule)
      return errorAt(&op, "has no rule in the reference evaluator");
    if (llvm::Error error = (*rule)(&op, context))
      return std::move(error);
    Values results = context.takeResults();
    if (results.size() != op.getNumResults())
      return errorAt(&op, "gave " + llvm::Twine(results.size()) + " results, it has " +
                              llvm::Twine(op.getNumResults()));
    for (auto [result, value] : llvm::zip(op.getResults(), results)) {
      if (std::string fault = mismatch(value, result.getType()); !fault.empty())
        return errorAt(&op, "result " + llvm::Twine(result.getResultNumber()) + ": " + fault);
      environment[result] = std::move(value);
    }
  }
  return errorAt(parent, "has a block without a terminator");
}

/// The layer must be given where the family has layers, and be one of them.
static llvm::Error checkMember(mlir::Operation *user, llvm::StringRef family,
                               llm::LayersAttr layers, int64_t layer) {
  if (!layers && layer >= 0)
    return errorAt(user, "asks for layer " + llvm::Twine(layer) + " of @" + family +
                             ", which has no layers");
  if (layers && layer < 0)
    return errorAt(user, "needs a layer of @" + family);
  if (layers && !layers.contains(layer))
    return errorAt(user, "asks for layer " + llvm::Twine(layer) + ", which is not one of @" +
                             family);
  return llvm::Error::success();
}

template <typename T>
llvm::Expected<Weight> Evaluator<T>::parameter(mlir::Operation *user, llvm::StringRef family,
                                               int64_t layer) {
  auto op = symbols.lookup<llm::WeightFamilyOp>(family);
  if (!op)
    return errorAt(user, "names @" + family + ", which is not a weight family");
  if (llvm::Error error = checkMember(user, family, op.getLayersAttr(), layer))
    return std::move(error);
  if (std::optional<llvm::ArrayRef<float>> values = op.getValues()) {
    // Of all members, in ascending order of layers.
    int64_t member = 0, elements = op.getType().getNumElements();
    if (llm::LayersAttr layers = op.getLayersAttr()) {
      llvm::SmallVector<int64_t> members = layers.expand();
      member = llvm::find(members, layer) - members.begin();
    }
    llvm::ArrayRef<float> own = values->slice(size_t(member * elements), size_t(elements));
    return Weight{llmc::resolveLayer(op.getSource(), layer), Shape(op.getType().getShape()),
                  std::make_shared<std::vector<float>>(own.begin(), own.end())};
  }
  llvm::StringRef name = op.getCheckpoint().value_or(op.getSource());
  llm::ViewAttr view = op.getEffectiveView();
  WeightPart part{Shape(view.getStored()), view.getFirst(), Shape(view.getStrides()),
                  op.getType().getStorageName()};
  llvm::Expected<Weight> weight =
      weights.get(llmc::resolveLayer(name, layer), op.getType().getShape(), part);
  if (!weight)
    return addContext(weight.takeError(), user, "");
  return weight;
}

template <typename T>
llvm::Expected<CacheHandle<T>> Evaluator<T>::state(mlir::Operation *user, llvm::StringRef family,
                                                   int64_t layer, bool asItStands) {
  auto op = symbols.lookup<llm::StateFamilyOp>(family);
  if (!op)
    return errorAt(user, "names @" + family + ", which is not a state family");
  if (llvm::Error error = checkMember(user, family, op.getLayers(), layer))
    return std::move(error);
  std::shared_ptr<CacheState<T>> &state = states[{family.str(), layer}];
  if (!state) {
    state = std::make_shared<CacheState<T>>();
    state->name = (family + "[" + llvm::Twine(layer) + "]").str();
    state->shape = Shape(op.getType().getShape());
  }
  return CacheHandle<T>{state, asItStands ? state->version : state->versionBeforeStep};
}

template class llmc::reference::Evaluator<float>;
template class llmc::reference::Evaluator<double>;
