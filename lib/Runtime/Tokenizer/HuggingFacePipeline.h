//===- HuggingFacePipeline.h - the steps of a tokenizer.json ----*- C++ -*-===//
#ifndef LLMC_LIB_RUNTIME_TOKENIZER_HUGGINGFACEPIPELINE_H
#define LLMC_LIB_RUNTIME_TOKENIZER_HUGGINGFACEPIPELINE_H

#include "llmc/Runtime/TokenizerSpec.h"

#include <nlohmann/json.hpp>

namespace llmc::rt {

// Each reads one member of tokenizer.json into the spec and throws InputError
// for what it cannot express. A member may be null.
void readNormalizer(const nlohmann::json &node, TokenizerSpec &spec);
void readPreTokenizer(const nlohmann::json &node, TokenizerSpec &spec);
void readPostProcessor(const nlohmann::json &node, TokenizerSpec &spec);
void readDecoder(const nlohmann::json &node, TokenizerSpec &spec);

} // namespace llmc::rt

#endif // LLMC_LIB_RUNTIME_TOKENIZER_HUGGINGFACEPIPELINE_H
