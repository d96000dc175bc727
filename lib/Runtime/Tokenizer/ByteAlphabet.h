//===- ByteAlphabet.h - the GPT-2 spelling of bytes -------------*- C++ -*-===//
//
// Byte-level vocabularies spell every byte as one printable character: bytes
// that are printable in Latin-1 as themselves, the other 68 as U+0100 onwards
// in the order of their values.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_LIB_RUNTIME_TOKENIZER_BYTEALPHABET_H
#define LLMC_LIB_RUNTIME_TOKENIZER_BYTEALPHABET_H

#include <cstdint>
#include <string>
#include <string_view>

namespace llmc::rt {

/// The character that stands for a byte, in UTF-8.
std::string_view byteSpelling(uint8_t byte);

/// Spells all bytes of a text.
std::string spellBytes(std::string_view bytes);

/// Appends the bytes that \p spelling stands for. False, with nothing
/// appended, when it has a character outside of the alphabet.
bool unspellBytes(std::string_view spelling, std::string &out);

} // namespace llmc::rt

#endif // LLMC_LIB_RUNTIME_TOKENIZER_BYTEALPHABET_H
