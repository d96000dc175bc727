//===- LayerLimit.h - how many layers there can be --------------*- C++ -*-===//
#ifndef LLMC_DIALECT_LLM_IR_LAYERLIMIT_H
#define LLMC_DIALECT_LLM_IR_LAYERLIMIT_H

#include <cstdint>

namespace llmc::llm {

/// The most layers of a model. More are a mistake, and passes list layers one by one.
inline constexpr int64_t maxLayers = 1 << 16;

} // namespace llmc::llm

#endif // LLMC_DIALECT_LLM_IR_LAYERLIMIT_H
