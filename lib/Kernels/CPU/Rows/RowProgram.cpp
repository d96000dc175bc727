//===- RowProgram.cpp - building and naming row programs ------------------===//
#include "RowPlan.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

using namespace llvm;

namespace llmc::kernels {

StringRef activationName(Activation activation) {
  switch (activation) {
  case Activation::SiLU:
    return "silu";
  case Activation::GeluTanh:
    return "gelu_tanh";
  case Activation::GeluErf:
    return "gelu_erf";
  case Activation::GeluQuick:
    return "gelu_quick";
  case Activation::Relu:
    return "relu";
  case Activation::ReluSquared:
    return "relu2";
  case Activation::Tanh:
    return "tanh";
  case Activation::Sigmoid:
    return "sigmoid";
  case Activation::Softplus:
    return "softplus";
  case Activation::Exp:
    return "exp";
  case Activation::Log:
    return "log";
  case Activation::Sqrt:
    return "sqrt";
  case Activation::Reciprocal:
    return "reciprocal";
  }
  llvm_unreachable("unknown activation");
}

unsigned RowOp::reductionPasses() const {
  switch (kind) {
  case RowOpKind::RmsNorm:
  case RowOpKind::L2Norm:
  case RowOpKind::Mean:
  case RowOpKind::Sum:
  case RowOpKind::RowMax:
    return 1;
  case RowOpKind::LayerNorm:
  case RowOpKind::Softmax:
  case RowOpKind::Deviation:
    return 2;
  default:
    return 0;
  }
}

RowProgram::Node RowProgram::input(const RowOperand &operand) {
  // One node for equal operands, so that a row is read once.
  for (auto [i, op] : llvm::enumerate(nodes))
    if (op.kind == RowOpKind::Input && op.operand == operand)
      return int(i);
  Node node = push(RowOpKind::Input, none);
  nodes.back().operand = operand;
  return node;
}

RowProgram::Node RowProgram::constant(unsigned operand, RowElement element, int64_t offset) {
  return input({operand, /*stride=*/0, offset, /*inner=*/0, element});
}

RowProgram::Node RowProgram::activate(Activation activation, Node x) {
  Node node = push(RowOpKind::Activate, x);
  nodes.back().activation = activation;
  return node;
}

RowProgram::Node RowProgram::positionScale(float scale, int64_t period, int64_t shift) {
  Node node = push(RowOpKind::PositionScale, none, none, none, scale);
  nodes.back().period = period;
  nodes.back().shift = shift;
  return node;
}

RowProgram::Node RowProgram::push(RowOpKind kind, Node x, Node y, Node z, float p0, float p1) {
  [[maybe_unused]] Node limit = Node(nodes.size());
  assert(x < limit && y < limit && z < limit && "operands come before their users");
  RowOp op;
  op.kind = kind;
  op.inputs[0] = x;
  op.inputs[1] = y;
  op.inputs[2] = z;
  op.params[0] = p0;
  op.params[1] = p1;
  nodes.push_back(op);
  return Node(nodes.size()) - 1;
}

void RowProgram::output(Node node, const RowOperand &operand) {
  assert(operand.element == RowElement::F32 && operand.index == RowIndex::Item &&
         "outputs are dense f32 rows");
  outs.push_back({node, operand});
}

bool RowProgram::countsOutputs() const {
  return llvm::any_of(nodes, [](const RowOp &op) {
    return op.kind == RowOpKind::Input && op.operand.index == RowIndex::OutputRow;
  });
}

unsigned RowProgram::operandCount() const {
  unsigned count = 0;
  auto add = [&](const RowOperand &operand) {
    count = std::max({count, operand.operand + 1, unsigned(operand.chooser + 1)});
  };
  for (const RowOp &op : nodes)
    if (op.kind == RowOpKind::Input)
      add(op.operand);
  for (const Output &out : outs)
    add(out.operand);
  return count;
}

std::string checkRowProgram(const RowProgram &program) {
  if (program.width() <= 0 || program.rowsPerToken() <= 0)
    return "a row program needs rows of at least one element, at least one a token";
  if (program.outputs().empty())
    return "a row program without outputs computes nothing";
  bool looksUp = false;
  for (const RowOp &op : program.ops()) {
    if (op.kind == RowOpKind::Input && op.operand.scalar && op.operand.element != RowElement::F32)
      return "single elements are read as f32";
    if (op.kind == RowOpKind::PositionScale) {
      if (op.period < 1 || op.shift < 0)
        return "a position scale needs a positive period and a shift that is not negative";
      if (program.countsOutputs())
        return "positions are those of tokens; the items of this program count outputs";
    }
    looksUp |= op.kind == RowOpKind::Input && op.operand.index == RowIndex::TokenId;
    if (op.kind == RowOpKind::Softcap && !(op.params[0] > 0))
      return "a softcap is a positive number";
    if (op.kind == RowOpKind::Clamp && !(op.params[0] <= op.params[1]))
      return "a clamp's low bound is above its high bound";
  }
  if (looksUp && program.countsOutputs())
    return "a row program is over tokens or over outputs: an operand indexed by token id does not "
           "go with one indexed by output row";
  return "";
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static StringRef mnemonic(const RowOp &op) {
  switch (op.kind) {
  case RowOpKind::Input:
    return "in";
  case RowOpKind::Add:
    return "add";
  case RowOpKind::Sub:
    return "sub";
  case RowOpKind::Mul:
    return "mul";
  case RowOpKind::Div:
    return "div";
  case RowOpKind::Fma:
    return "fma";
  case RowOpKind::Min:
    return "min";
  case RowOpKind::Max:
    return "max";
  case RowOpKind::Scale:
    return "scale";
  case RowOpKind::AddConstant:
    return "addc";
  case RowOpKind::Clamp:
    return "clamp";
  case RowOpKind::Softcap:
    return "softcap";
  case RowOpKind::Activate:
    return activationName(op.activation);
  case RowOpKind::RmsNorm:
    return "rmsnorm";
  case RowOpKind::L2Norm:
    return "l2norm";
  case RowOpKind::LayerNorm:
    return "layernorm";
  case RowOpKind::Softmax:
    return "softmax";
  case RowOpKind::PositionScale:
    return "position_scale";
  case RowOpKind::Mean:
    return "mean";
  case RowOpKind::Deviation:
    return "deviation";
  case RowOpKind::Sum:
    return "sum";
  case RowOpKind::RowMax:
    return "row_max";
  }
  llvm_unreachable("unknown row op");
}

static void print(raw_ostream &os, const RowOperand &operand) {
  os << '@' << operand.operand << ',' << operand.stride << ',' << operand.offset << ','
     << operand.inner << ',' << unsigned(operand.element) << ',' << unsigned(operand.index);
  if (operand.scalar)
    os << ",s";
  if (operand.chooser >= 0)
    os << ",c" << operand.chooser << ',' << operand.chooserStep;
}

/// Everything that decides the kernel's code.
static std::string describe(const RowProgram &program) {
  std::string text;
  raw_string_ostream os(text);
  os << program.width() << 'x' << program.rowsPerToken();
  for (const RowOp &op : program.ops()) {
    os << ';' << mnemonic(op);
    for (int input : op.inputs)
      os << ' ' << input;
    for (float param : op.params)
      os << ' ' << utohexstr(bit_cast<uint32_t>(param));
    if (op.kind == RowOpKind::PositionScale)
      os << '/' << op.period << '+' << op.shift;
    if (op.kind == RowOpKind::Input)
      print(os, op.operand);
  }
  for (const RowProgram::Output &out : program.outputs()) {
    os << ">" << out.node;
    print(os, out.operand);
  }
  return text;
}

std::string rowKernelName(const RowProgram &program) { return "rows" + rowProgramName(program); }

std::string rowProgramName(const RowProgram &program) {
  std::string name;
  unsigned shown = 0;
  for (const RowOp &op : program.ops())
    if (op.kind != RowOpKind::Input && ++shown <= 4)
      name += ("_" + mnemonic(op)).str();
  name += "_" + std::to_string(program.width());
  return name + "_" + utohexstr(xxh3_64bits(describe(program)), /*LowerCase=*/true, /*Width=*/16);
}

int64_t rowKernelScratch(const RowProgram &program) {
  return int64_t(RowPlan(program).scratchRows) * int64_t(llvm::alignTo(program.width(), 16)) * 4;
}

int64_t rowKernelItems(const RowProgram &program, const llmc_batch &batch) {
  return (program.countsOutputs() ? batch.outputs : batch.tokens) * program.rowsPerToken();
}

} // namespace llmc::kernels
