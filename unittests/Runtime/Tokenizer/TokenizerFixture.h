//===- TokenizerFixture.h - a small vocabulary ------------------*- C++ -*-===//
#ifndef LLMC_UNITTESTS_RUNTIME_TOKENIZER_TOKENIZERFIXTURE_H
#define LLMC_UNITTESTS_RUNTIME_TOKENIZER_TOKENIZERFIXTURE_H

#include "llmc/Runtime/TokenizerSpec.h"
#include "llmc/Support/Error.h"

#include <algorithm>
#include <string>
#include <vector>

namespace llmc::rt::test {

/// What the InputError of a call says.
template <typename Fn> std::string messageOf(Fn fn) {
  try {
    fn();
  } catch (const llmc::InputError &error) {
    return error.what();
  }
  return "no error";
}

/// GPT-2's byte alphabet, written down a second time.
inline std::vector<std::string> byteAlphabet() {
  std::vector<std::string> alphabet;
  int extra = 0;
  for (int byte = 0; byte < 256; ++byte) {
    bool self = (byte > 32 && byte < 127) || (byte > 160 && byte != 173);
    int c = self ? byte : 256 + extra++;
    alphabet.push_back(c < 128 ? std::string(1, char(c))
                               : std::string{char(0xC0 | c >> 6), char(0x80 | (c & 63))});
  }
  return alphabet;
}

/// The 256 bytes, then the results of the merges, then four added tokens.
inline GgufTokenizerFields fieldsWith(std::vector<std::string> merges,
                                      const std::string &pre = "gpt-2") {
  GgufTokenizerFields fields;
  fields.model = "gpt2";
  fields.pre = pre;
  fields.tokens = byteAlphabet();
  for (const std::string &merge : merges) {
    std::string joined = merge;
    joined.erase(joined.find(' '), 1);
    // Several merges may lead to the same piece.
    if (std::find(fields.tokens.begin(), fields.tokens.end(), joined) == fields.tokens.end())
      fields.tokens.push_back(joined);
  }
  fields.tokenTypes.assign(fields.tokens.size(), 1);
  auto bos = static_cast<uint32_t>(fields.tokens.size());
  for (const char *special : {"<s>", "<|im_end|>", "<pad>"}) {
    fields.tokens.push_back(special);
    fields.tokenTypes.push_back(3);
  }
  fields.tokens.push_back("<tool>");
  fields.tokenTypes.push_back(4);
  fields.bosId = bos;
  fields.eosId = bos + 1;
  fields.padId = bos + 2;
  fields.merges = std::move(merges);
  return fields;
}

} // namespace llmc::rt::test

#endif // LLMC_UNITTESTS_RUNTIME_TOKENIZER_TOKENIZERFIXTURE_H
