//===- TinyModel.cpp - a model small enough for a unit test ---------------===//
#include "TinyModel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"

#include <random>

using namespace llmc::reference;

static constexpr llvm::StringLiteral text = R"mlir(
#rope = #llm.rope<"default", base = 100.0, width = 4, halves, magnitude = 1.0, [1.0, 0.1]>
!x = tensor<?x8xf32>
!kv = tensor<?x2x4xf32>
!cache = !llm.cache<paged, [2, 4, 4], f32>
!norm = !llm.weight<[8], #llm.dense<f32>>
!square = !llm.weight<[16, 8], #llm.dense<f32>>
!small = !llm.weight<[8, 8], #llm.dense<f32>>
!down = !llm.weight<[8, 16], #llm.dense<f32>>
!table = !llm.weight<[11, 8], #llm.dense<f32>>

llm.weight_family @embed "embed.weight" : !table
llm.weight_family @norm "layers.{i}.norm.weight" layers [0, 3] : !norm
llm.weight_family @q "layers.{i}.q.weight" layers [0, 3] : !square
llm.weight_family @k "layers.{i}.k.weight" layers [0, 3] : !small
llm.weight_family @v "layers.{i}.v.weight" layers [0, 3] : !small
llm.weight_family @o "layers.{i}.o.weight" layers [0, 3] : !down
llm.weight_family @last "norm.weight" : !norm
llm.state_family @kv layers [0, 3] : !cache

func.func @local(%i: index, %x: !x, %batch: !llm.batch) -> !x {
  %n = llm.param @norm[%i] : !norm
  %wq = llm.param @q[%i] : !square
  %wk = llm.param @k[%i] : !small
  %wv = llm.param @v[%i] : !small
  %wo = llm.param @o[%i] : !down
  %0 = llm.rms_norm %x, %n eps 1.0e-3 : !x, !norm
  %1 = llm.linear %0, %wq : !x, !square -> tensor<?x16xf32>
  %2 = llm.linear %0, %wk : !x, !small -> !x
  %3 = llm.linear %0, %wv : !x, !small -> !x
  %4 = llm.split_heads %1 : tensor<?x16xf32> -> tensor<?x4x4xf32>
  %5 = llm.split_heads %2 : !x -> !kv
  %v = llm.split_heads %3 : !x -> !kv
  %q = llm.rotary %4, %batch rope(#rope) : tensor<?x4x4xf32>
  %k = llm.rotary %5, %batch rope(#rope) : !kv
  %c0 = llm.state @kv[%i] : !cache
  %c1 = llm.kv_append %k, %v, %c0, %batch : !kv, !kv, !cache
  %6 = llm.paged_attention %q, %c1, %batch scale 0.5 window 3
      : tensor<?x4x4xf32>, !cache -> tensor<?x4x4xf32>
  %7 = llm.merge_heads %6 : tensor<?x4x4xf32> -> tensor<?x16xf32>
  %8 = llm.linear %7, %wo : tensor<?x16xf32>, !down -> !x
  %y = llm.residual_add %x, %8 : !x
  llm.observe %y "hidden.{i+1}"[%i] : !x
  return %y : !x
}
func.func @all(%i: index, %x: !x, %batch: !llm.batch) -> !x {
  %n = llm.param @norm[%i] : !norm
  %wq = llm.param @q[%i] : !square
  %wk = llm.param @k[%i] : !small
  %wv = llm.param @v[%i] : !small
  %wo = llm.param @o[%i] : !down
  %0 = llm.rms_norm %x, %n eps 1.0e-3 : !x, !norm
  %1 = llm.linear %0, %wq : !x, !square -> tensor<?x16xf32>
  %2 = llm.linear %0, %wk : !x, !small -> !x
  %3 = llm.linear %0, %wv : !x, !small -> !x
  %q = llm.split_heads %1 : tensor<?x16xf32> -> tensor<?x4x4xf32>
  %k = llm.split_heads %2 : !x -> !kv
  %v = llm.split_heads %3 : !x -> !kv
  %c0 = llm.state @kv[%i] : !cache
  %c1 = llm.kv_append %k, %v, %c0, %batch : !kv, !kv, !cache
  %6 = llm.paged_attention %q, %c1, %batch scale 0.5
      : tensor<?x4x4xf32>, !cache -> tensor<?x4x4xf32>
  %7 = llm.merge_heads %6 : tensor<?x4x4xf32> -> tensor<?x16xf32>
  %8 = llm.linear %7, %wo : tensor<?x16xf32>, !down -> !x
  %9 = llm.gate silu %8, %8 : !x
  %y = llm.residual_add %x, %9 : !x
  llm.observe %y "hidden.{i+1}"[%i] : !x
  return %y : !x
}
func.func @main(%tokens: tensor<?xi32>, %batch: !llm.batch) -> tensor<?x11xf32>
    attributes {llm.entry} {
  %table = llm.param @embed : !table
  %n = llm.param @last : !norm
  %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !x
  llm.observe %x "hidden.0" : !x
  %0 = llm.repeat [@local, @all] from 0 count 1 (%x) with (%batch) : (!x) with (!llm.batch)
  %1 = llm.repeat [@local] from 2 count 1 (%0) with (%batch) : (!x) with (!llm.batch)
  %2 = llm.select_rows %1, %batch : !x
  %3 = llm.rms_norm %2, %n eps 1.0e-3 : !x, !norm
  llm.observe %3 "final_norm" : !x
  %4 = llm.output_head %3, %table : !x, !table -> tensor<?x11xf32>
  llm.observe %4 "logits" : tensor<?x11xf32>
  return %4 : tensor<?x11xf32>
}
)mlir";

std::string llmc::reference::messageOf(llvm::Error error) {
  return llvm::toString(std::move(error));
}

mlir::OwningOpRef<mlir::ModuleOp> llmc::reference::parseModule(mlir::MLIRContext &context,
                                                               llvm::StringRef source) {
  context.loadDialect<llm::LLMDialect, mlir::func::FuncDialect, mlir::arith::ArithDialect,
                      mlir::tensor::TensorDialect>();
  return mlir::parseSourceString<mlir::ModuleOp>(source, &context);
}

TinyModel::TinyModel() {
  owned = parseModule(context, text);
  std::mt19937 random(7);
  for (auto family : module().getOps<llm::WeightFamilyOp>()) {
    llvm::ArrayRef<int64_t> shape = family.getType().getShape();
    llvm::SmallVector<int64_t> members{0};
    if (llm::LayersAttr set = family.getLayersAttr())
      members = set.expand();
    for (int64_t layer : members) {
      std::vector<float> values;
      for (int64_t i = 0; i < elementCount(shape); ++i)
        values.push_back(float(int64_t(random() % 2001) - 1000) / 1000);
      std::string name = family.getSource().str();
      if (size_t place = name.find("{i}"); place != std::string::npos)
        name.replace(place, 3, std::to_string(layer));
      weights.set(name, shape, std::move(values));
    }
  }
}

Step llmc::reference::stepOf(int64_t sequence, int64_t start, llvm::ArrayRef<int32_t> tokens) {
  Step step;
  step.add(sequence, start, tokens);
  for (int64_t row = 0; row < int64_t(tokens.size()); ++row)
    step.batch.outputRows.push_back(row);
  return step;
}
