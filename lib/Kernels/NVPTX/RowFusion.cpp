//===- RowFusion.cpp - a row program as one gpu.func ----------------------===//
#include "llmc/Kernels/NVPTX/RowKernels.h"

// How a program runs in passes over the row is no matter of the chip.
#include "../CPU/Rows/RowPlan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace llmc::kernels::nvptx {

llvm::ArrayRef<DeviceGenerator> deviceGenerators() {
  static constexpr DeviceGenerator table[] = {
      {rowGenerator, "tuned",
       "any DAG of llm.rms_norm, llm.layer_norm, llm.residual_add, llm.scale and relu along rows, "
       "one block a row"}};
  return table;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

namespace {
/// The block of one row: its threads and its shared memory. Rows that later passes
/// need come first, then one value a warp for every reduction.
struct BlockShape {
  BlockShape(const RowProgram &program, const RowPlan &plan, const TargetInfo &target) {
    int64_t warp = target.warp;
    threads = std::min(target.rowThreads, (program.width() + warp - 1) / warp * warp);
    warps = threads / warp;
    partials = int64_t(plan.scratchRows) * program.width();
    floats = partials;
    if (warps > 1)
      for (const RowPlan::Pass &pass : plan.passes)
        floats += warps * int64_t(pass.reductions.size());
  }
  int64_t threads, warps;
  /// In floats: where the values of the warps begin, and where all ends.
  int64_t partials, floats;
};
} // namespace

RowLaunch rowLaunch(const RowProgram &program, const TargetInfo &target) {
  BlockShape shape(program, RowPlan(program), target);
  return {shape.threads, shape.floats * 4};
}

std::string checkRowKernel(const RowProgram &program, const TargetInfo &target) {
  if (std::string problem = checkRowProgram(program); !problem.empty())
    return problem;
  for (const RowOp &op : program.ops()) {
    switch (op.kind) {
    case RowOpKind::PositionScale:
      return "positions are the batch's, which device kernels do not see";
    case RowOpKind::Mean:
    case RowOpKind::Deviation:
    case RowOpKind::Sum:
    case RowOpKind::RowMax:
      return "a row's statistic has no device kernel";
    case RowOpKind::Softmax:
      return "softmax needs exp, which has no polynomial on this target";
    case RowOpKind::Softcap:
      return "softcap needs tanh, which has no polynomial on this target";
    case RowOpKind::Activate:
      if (op.activation != Activation::Relu && op.activation != Activation::ReluSquared)
        return activationName(op.activation).str() +
               " needs a transcendental function, which has no polynomial on this target";
      break;
    case RowOpKind::Input:
      if (op.operand.index != RowIndex::Item)
        return "rows are chosen by the batch, which device kernels do not see";
      if (op.operand.scalar || op.operand.chooser >= 0)
        return "device kernels read whole rows at places that the program fixes";
      break;
    default:
      break;
    }
  }
  if (RowLaunch launch = rowLaunch(program, target); launch.sharedBytes > target.sharedBytes)
    return "rows of " + std::to_string(program.width()) + " elements need " +
           std::to_string(launch.sharedBytes) + " bytes of shared memory, a block has " +
           std::to_string(target.sharedBytes);
  return "";
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

namespace {

class RowEmitter {
public:
  RowEmitter(ImplicitLocOpBuilder &b, const RowProgram &program, const TargetInfo &target)
      : b(b), program(program), target(target), plan(program), shape(program, plan, target),
        nextPartial(shape.partials) {}

  void emit(gpu::GPUFuncOp function);

private:
  using Values = SmallVector<Value>;

  // Addresses.
  Value rowPointer(const RowOperand &operand, gpu::GPUFuncOp function, Value token, Value inner);
  Value load(Value row, RowElement element);
  void store(Value value, Value row);
  Value sharedIndex(unsigned row);

  // Passes.
  void emitPass(const RowPlan::Pass &pass);
  Value accumulate(const RowPlan::Reduction &reduction, Value acc);
  void finish(const RowPlan::Reduction &reduction, Value own);
  Value sumOfBlock(Value own);

  // Values of the element at hand.
  Value valueOf(int node);
  Value compute(int node);
  Value reload(int node);

  Value constant(float value) {
    return arith::ConstantFloatOp::create(b, b.getF32Type(), llvm::APFloat(value));
  }
  Value int32(int64_t value) { return arith::ConstantIntOp::create(b, value, 32); }
  Value int64(int64_t value) { return arith::ConstantIntOp::create(b, value, 64); }
  Value select(arith::CmpFPredicate predicate, Value x, Value y) {
    return arith::SelectOp::create(b, arith::CmpFOp::create(b, predicate, x, y), x, y);
  }
  Value max(Value x, Value y) { return select(arith::CmpFPredicate::OGT, x, y); }
  Value min(Value x, Value y) { return select(arith::CmpFPredicate::OLT, x, y); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, x, y); }
  Value fma(Value x, Value y, Value z) { return LLVM::FMAOp::create(b, x, y, z); }
  /// Rounds once; llvm.intr.sqrt would become a call of the device library.
  Value sqrt(Value x) {
    return LLVM::CallIntrinsicOp::create(b, b.getF32Type(),
                                         b.getStringAttr("llvm.nvvm.sqrt.rn.f"), ValueRange{x})
        .getResult(0);
  }

  ImplicitLocOpBuilder &b;
  const RowProgram &program;
  const TargetInfo &target;
  RowPlan plan;
  BlockShape shape;

  /// Of the block: its first elements by node and by output, and shared memory.
  Values inputs, outputs;
  Value thread, shared;
  int64_t nextPartial;
  /// Of the element at hand.
  Value element;
  unsigned current = 0;
  llvm::SmallDenseMap<int, Value> memo;
  /// Results of finished reductions: [node][phase].
  llvm::DenseMap<std::pair<int, unsigned>, Value> statistics;
};

} // namespace

void RowEmitter::emit(gpu::GPUFuncOp function) {
  Type i32 = b.getI32Type();
  auto id = [&](Value index) -> Value { return arith::IndexCastOp::create(b, i32, index); };
  Value item = id(gpu::BlockIdOp::create(b, gpu::Dimension::x));
  thread = id(gpu::ThreadIdOp::create(b, gpu::Dimension::x));
  Value rows = function.getArguments().back();
  if (program.rowsPerToken() != 1)
    rows = arith::MulIOp::create(b, rows, int32(program.rowsPerToken()));
  // A grid may be rounded up. All threads of a block agree, so barriers inside are met by all.
  Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, item, rows);
  auto guard = scf::IfOp::create(b, inside, /*withElseRegion=*/false);
  b.setInsertionPointToStart(guard.thenBlock());

  Value token = arith::ExtUIOp::create(b, b.getI64Type(), item), inner;
  if (program.rowsPerToken() != 1) {
    Value per = int64(program.rowsPerToken());
    inner = arith::RemUIOp::create(b, token, per);
    token = arith::DivUIOp::create(b, token, per);
  }
  for (const RowOp &op : program.ops())
    inputs.push_back(op.kind == RowOpKind::Input ? rowPointer(op.operand, function, token, inner)
                                                 : Value());
  for (const RowProgram::Output &out : program.outputs())
    outputs.push_back(rowPointer(out.operand, function, token, inner));
  if (shape.floats) {
    auto space = gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup);
    auto bytes = MemRefType::get({ShapedType::kDynamic}, b.getI8Type(), AffineMap(), space);
    auto floats = MemRefType::get({shape.floats}, b.getF32Type(), AffineMap(), space);
    Value start = arith::ConstantIndexOp::create(b, 0);
    shared = memref::ViewOp::create(b, floats, gpu::DynamicSharedMemoryOp::create(b, bytes), start,
                                    ValueRange());
  }
  for (const RowPlan::Pass &pass : plan.passes)
    if (!pass.empty())
      emitPass(pass);
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

static Type elementType(OpBuilder &b, RowElement element) {
  return element == RowElement::F32   ? Type(b.getF32Type())
         : element == RowElement::F16 ? Type(b.getF16Type())
                                      : Type(b.getBF16Type());
}

Value RowEmitter::rowPointer(const RowOperand &operand, gpu::GPUFuncOp function, Value token,
                             Value inner) {
  Value first = int64(operand.offset);
  auto advance = [&](Value index, int64_t by) {
    if (index && by)
      first = arith::AddIOp::create(b, first, arith::MulIOp::create(b, index, int64(by)));
  };
  advance(token, operand.stride);
  advance(inner, operand.inner);
  return LLVM::GEPOp::create(b, LLVM::LLVMPointerType::get(b.getContext()),
                             elementType(b, operand.element),
                             function.getArgument(operand.operand), ValueRange{first});
}

Value RowEmitter::load(Value row, RowElement stored) {
  Type type = elementType(b, stored);
  Value address = LLVM::GEPOp::create(b, row.getType(), type, row, ValueRange{element});
  Value value = LLVM::LoadOp::create(b, type, address);
  return stored == RowElement::F32 ? value : arith::ExtFOp::create(b, b.getF32Type(), value);
}

void RowEmitter::store(Value value, Value row) {
  Value address = LLVM::GEPOp::create(b, row.getType(), b.getF32Type(), row, ValueRange{element});
  LLVM::StoreOp::create(b, value, address);
}

/// The element's place in a row of shared memory, which only its own thread touches.
Value RowEmitter::sharedIndex(unsigned row) {
  Value index = arith::AddIOp::create(b, element, int32(int64_t(row) * program.width()));
  return arith::IndexCastOp::create(b, b.getIndexType(), index);
}

//===----------------------------------------------------------------------===//
// Passes and reductions
//===----------------------------------------------------------------------===//

void RowEmitter::emitPass(const RowPlan::Pass &pass) {
  current = unsigned(&pass - plan.passes.begin());
  Values zeros(pass.reductions.size(), constant(0));
  auto loop = scf::ForOp::create(b, thread, int32(program.width()), int32(shape.threads), zeros);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    element = loop.getInductionVar();
    memo.clear();
    Values accs;
    for (auto [i, reduction] : llvm::enumerate(pass.reductions))
      accs.push_back(accumulate(reduction, loop.getRegionIterArgs()[i]));
    // All loads come before the stores: outputs may lie over inputs.
    for (unsigned i : pass.outputs)
      valueOf(program.outputs()[i].node);
    for (int node : pass.spills)
      valueOf(node);
    for (unsigned i : pass.outputs)
      store(valueOf(program.outputs()[i].node), outputs[i]);
    for (int node : pass.spills)
      memref::StoreOp::create(b, valueOf(node), shared, sharedIndex(plan.homes[node].index));
    if (!accs.empty())
      scf::YieldOp::create(b, accs);
  }
  for (auto [i, reduction] : llvm::enumerate(pass.reductions))
    finish(reduction, loop.getResult(unsigned(i)));
}

Value RowEmitter::accumulate(const RowPlan::Reduction &reduction, Value acc) {
  const RowOp &op = program.ops()[reduction.node];
  Value x = valueOf(op.inputs[0]);
  if (op.kind == RowOpKind::LayerNorm) {
    if (reduction.phase == 0)
      return add(acc, x);
    x = sub(x, statistics.lookup({reduction.node, 0}));
  }
  return fma(x, x, acc);
}

void RowEmitter::finish(const RowPlan::Reduction &reduction, Value own) {
  const RowOp &op = program.ops()[reduction.node];
  Value result = sumOfBlock(own);
  if (op.kind != RowOpKind::L2Norm)
    result = div(result, constant(float(program.width())));
  if (op.kind != RowOpKind::LayerNorm || reduction.phase == 1) {
    result = div(constant(1), sqrt(add(result, constant(op.params[0]))));
  }
  statistics[{reduction.node, reduction.phase}] = result;
}

/// The sum over the threads of the block, known to all of them.
Value RowEmitter::sumOfBlock(Value own) {
  for (int64_t distance = target.warp / 2; distance >= 1; distance /= 2) {
    auto other = gpu::ShuffleOp::create(b, own, int32(distance), int32(target.warp),
                                        gpu::ShuffleMode::XOR);
    own = add(own, other.getShuffleResult());
  }
  if (shape.warps == 1)
    return own;

  int64_t first = nextPartial;
  nextPartial += shape.warps;
  Value warp = arith::DivUIOp::create(b, thread, int32(target.warp));
  Value lane = arith::RemUIOp::create(b, thread, int32(target.warp));
  Value leads = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, int32(0));
  auto index = [&](Value place) -> Value {
    return arith::IndexCastOp::create(b, b.getIndexType(), place);
  };
  auto guard = scf::IfOp::create(b, leads, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard inside(b);
    b.setInsertionPointToStart(guard.thenBlock());
    Value place = index(arith::AddIOp::create(b, warp, int32(first)));
    memref::StoreOp::create(b, own, shared, place);
  }
  gpu::BarrierOp::create(b);
  Values sums;
  for (int64_t i = 0; i < shape.warps; ++i)
    sums.push_back(
        memref::LoadOp::create(b, shared, Value(arith::ConstantIndexOp::create(b, first + i))));
  while (sums.size() > 1) {
    Values pairs;
    for (size_t i = 0; i < sums.size(); i += 2)
      pairs.push_back(i + 1 < sums.size() ? add(sums[i], sums[i + 1]) : sums[i]);
    sums = std::move(pairs);
  }
  return sums.front();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value RowEmitter::valueOf(int node) {
  if (Value known = memo.lookup(node))
    return known;
  Value value = plan.passOf[node] < current ? reload(node) : compute(node);
  memo[node] = value;
  return value;
}

Value RowEmitter::compute(int node) {
  const RowOp &op = program.ops()[node];
  auto in = [&](unsigned i) { return valueOf(op.inputs[i]); };
  auto param = [&](unsigned i) { return constant(op.params[i]); };
  auto statistic = [&](unsigned phase) { return statistics.lookup({node, phase}); };
  switch (op.kind) {
  case RowOpKind::Input:
    return load(inputs[node], op.operand.element);
  case RowOpKind::Add:
    return add(in(0), in(1));
  case RowOpKind::Sub:
    return sub(in(0), in(1));
  case RowOpKind::Mul:
    return mul(in(0), in(1));
  case RowOpKind::Div:
    return div(in(0), in(1));
  case RowOpKind::Fma:
    return fma(in(0), in(1), in(2));
  case RowOpKind::Min:
    return min(in(0), in(1));
  case RowOpKind::Max:
    return max(in(0), in(1));
  case RowOpKind::Scale:
    return mul(in(0), param(0));
  case RowOpKind::AddConstant:
    return add(in(0), param(0));
  case RowOpKind::Clamp:
    // The constant first: a NaN of the row stays.
    return min(param(1), max(param(0), in(0)));
  case RowOpKind::Activate: {
    Value positive = max(constant(0), in(0));
    return op.activation == Activation::Relu ? positive : mul(positive, positive);
  }
  case RowOpKind::RmsNorm: {
    Value y = mul(in(0), statistic(0));
    if (op.inputs[1] < 0)
      return y;
    Value scale = in(1);
    return mul(y, op.params[1] != 0 ? add(param(1), scale) : scale);
  }
  case RowOpKind::L2Norm:
    return mul(in(0), statistic(0));
  case RowOpKind::LayerNorm: {
    Value y = mul(sub(in(0), statistic(0)), statistic(1));
    if (op.inputs[1] >= 0)
      y = mul(y, in(1));
    return op.inputs[2] >= 0 ? add(y, in(2)) : y;
  }
  case RowOpKind::PositionScale:
  case RowOpKind::Mean:
  case RowOpKind::Deviation:
  case RowOpKind::Sum:
  case RowOpKind::RowMax:
  case RowOpKind::Softcap:
  case RowOpKind::Softmax:
    break;
  }
  llvm_unreachable("checkRowKernel refuses the program");
}

Value RowEmitter::reload(int node) {
  const RowPlan::Home &home = plan.homes[node];
  switch (home.kind) {
  case RowPlan::Home::Operand:
    return load(inputs[node], program.ops()[node].operand.element);
  case RowPlan::Home::Output:
    return load(outputs[home.index], RowElement::F32);
  case RowPlan::Home::Scratch:
    return memref::LoadOp::create(b, shared, sharedIndex(home.index));
  case RowPlan::Home::None:
    break;
  }
  llvm_unreachable("a value of an earlier pass without a home");
}

void buildRowKernel(ModuleOp kernels, Location loc, const RowProgram &program,
                    const TargetInfo &target) {
  MLIRContext *context = kernels.getContext();
  ImplicitLocOpBuilder b(loc, context);
  b.setInsertionPointToEnd(kernels.getBody());
  std::string name = rowKernelName(program);
  Attribute chip = NVVM::NVVMTargetAttr::get(context, /*optLevel=*/3, target.triple, target.chip,
                                             target.features);
  auto module = gpu::GPUModuleOp::create(b, name, b.getArrayAttr({chip}));
  b.setInsertionPointToStart(module.getBody());

  SmallVector<Type> parameters(program.operandCount(), LLVM::LLVMPointerType::get(context));
  parameters.push_back(b.getI32Type());
  auto function = gpu::GPUFuncOp::create(b, name, b.getFunctionType(parameters, {}));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  int32_t threads = int32_t(rowLaunch(program, target).threads);
  function.setKnownBlockSize(ArrayRef<int32_t>{threads, 1, 1});
  b.setInsertionPointToStart(&function.getBody().front());
  RowEmitter(b, program, target).emit(function);
  b.setInsertionPointToEnd(&function.getBody().front());
  gpu::ReturnOp::create(b);
}

} // namespace llmc::kernels::nvptx
