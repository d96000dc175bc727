//===- RandomProgram.h - legal programs of the llm dialect, drawn ---------===//
#ifndef LLMC_UNITTESTS_PIPELINES_RANDOMPROGRAM_H
#define LLMC_UNITTESTS_PIPELINES_RANDOMPROGRAM_H

#include <cstdint>
#include <string>

namespace llmc::test {

/// A whole model as text: several kinds of layers in several repeats, each of blocks of attention
/// (grouped, windowed, capped, with norms of heads, rotary embeddings, biases, output gates),
/// feed-forward networks, experts, convolutions, recurrences and element-wise work, joined to the
/// stream in several ways. Sizes are small and odd. The same for the same seed on every machine.
std::string randomProgram(uint64_t seed);

} // namespace llmc::test

#endif // LLMC_UNITTESTS_PIPELINES_RANDOMPROGRAM_H
