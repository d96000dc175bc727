//===- SentencePieceModel.h - SentencePiece's pipeline ----------*- C++ -*-===//
#ifndef LLMC_LIB_RUNTIME_TOKENIZER_SENTENCEPIECEMODEL_H
#define LLMC_LIB_RUNTIME_TOKENIZER_SENTENCEPIECEMODEL_H

#include "llmc/Runtime/TokenizerSpec.h"

namespace llmc::rt {

/// Normalizer, decoder, unknown token, byte fallback and the tokens that are looked for in the
/// text, once the pieces are there. Throws InputError where they do not fit together.
void completeSentencePiece(TokenizerSpec &spec, const NormalizerStep &normalizer,
                           const std::string &unknownSurface);

} // namespace llmc::rt

#endif // LLMC_LIB_RUNTIME_TOKENIZER_SENTENCEPIECEMODEL_H
