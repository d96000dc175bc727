//===- EmbeddingRules.cpp - rows of tables and batches --------------------===//
#include "RuleSets.h"

#include "llmc/Reference/Evaluator.h"

#include <algorithm>

using namespace llmc::reference;
namespace llm = llmc::llm;

template <typename T> static llvm::Error embedding(llm::EmbeddingOp op, OpContext<T> &context) {
  const std::vector<int32_t> &tokens = context.tokens(op.getTokens());
  const Weight &table = context.weight(op.getTable());
  if (table.shape.size() != 2)
    return context.error("needs a table of rank 2, it is " + shapeText(table.shape));
  int64_t width = table.shape[1];
  HostTensor<T> y({int64_t(tokens.size()), width});
  for (auto [t, token] : llvm::enumerate(tokens)) {
    if ((token < 0 || token >= table.shape[0]) && op.getOtherwise()) {
      std::copy_n(table.values->begin() + int64_t(*op.getOtherwise()) * width, width,
                  y.row(int64_t(t)));
      continue;
    }
    if (token < 0 || token >= table.shape[0])
      return context.error("token " + llvm::Twine(token) + " is outside of the table's " +
                           llvm::Twine(table.shape[0]) + " rows");
    std::copy_n(table.values->begin() + token * width, width, y.row(int64_t(t)));
  }
  context.result(std::move(y));
  return llvm::Error::success();
}

template <typename T>
static llvm::Error positionEmbedding(llm::PositionEmbeddingOp op, OpContext<T> &context) {
  const Batch &batch = context.batch(op.getBatch());
  const Weight &table = context.weight(op.getTable());
  if (table.shape.size() != 2)
    return context.error("needs a table of rank 2, it is " + shapeText(table.shape));
  int64_t width = table.shape[1], offset = op.getOffset(), row = 0;
  HostTensor<T> y({batch.tokens(), width});
  for (const BatchSequence &sequence : batch.sequences)
    for (int64_t i = 0; i < sequence.count; ++i) {
      int64_t position = sequence.start + i;
      if (position + offset >= table.shape[0])
        return context.error("position " + llvm::Twine(position) + " needs row " +
                             llvm::Twine(position + offset) + " of the table, which has " +
                             llvm::Twine(table.shape[0]) + "; give at most " +
                             llvm::Twine(table.shape[0] - offset) + " tokens");
      std::copy_n(table.values->begin() + (position + offset) * width, width, y.row(row++));
    }
  context.result(std::move(y));
  return llvm::Error::success();
}

template <typename T> static llvm::Error selectRows(llm::SelectRowsOp op, OpContext<T> &context) {
  const HostTensor<T> &x = context.tensor(op.getInput());
  const Batch &batch = context.batch(op.getBatch());
  if (x.rank() == 0 || x.rows() != batch.tokens())
    return context.error("needs a row for each of the batch's " + llvm::Twine(batch.tokens()) +
                         " tokens, the input is " + shapeText(x.shape));
  Shape shape = x.shape;
  shape.front() = int64_t(batch.outputRows.size());
  HostTensor<T> y(shape);
  for (auto [r, row] : llvm::enumerate(batch.outputRows))
    std::copy_n(x.row(row), x.rowSize(), y.row(int64_t(r)));
  context.result(std::move(y));
  return llvm::Error::success();
}

template <typename T> void llmc::reference::addEmbeddingRules(RuleTable<T> &table) {
  table.template add<llm::EmbeddingOp>(embedding<T>);
  table.template add<llm::PositionEmbeddingOp>(positionEmbedding<T>);
  table.template add<llm::SelectRowsOp>(selectRows<T>);
}

template void llmc::reference::addEmbeddingRules(RuleTable<float> &);
template void llmc::reference::addEmbeddingRules(RuleTable<double> &);
