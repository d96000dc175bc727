//===- Tokenizer.cpp - the files of tokenizers ----------------------------===//
//
// The first byte says what follows: 'h' a tokenizer.json, a NUL, a
// tokenizer_config.json, a NUL and text to encode; 'a' an artifact's tokenizer
// file and 's' a SentencePiece model, both with the text behind the last NUL.
//
//===----------------------------------------------------------------------===//
#include "Support.h"
#include "llmc/Runtime/Tokenizer.h"

#include <algorithm>

using namespace llmc;
using namespace llmc::fuzz;

static void use(rt::TokenizerSpec spec, std::string_view text) {
  // What is written into an artifact is read again from there.
  rt::TokenizerSpec again = rt::TokenizerSpec::fromBytes(spec.toBytes());
  if (again.tokens.size() != spec.tokens.size())
    __builtin_trap();
  rt::Tokenizer tokenizer(std::move(again));
  for (bool special : {false, true}) {
    std::vector<int32_t> ids = tokenizer.encode(text, {special, special});
    for (int32_t id : ids)
      if (id < 0 || id >= tokenizer.vocabSize())
        __builtin_trap();
    std::string whole = tokenizer.decode(ids, special), streamed;
    rt::StreamDecoder stream(tokenizer, special);
    for (int32_t id : ids)
      streamed += stream.append(id);
    streamed += stream.flush();
    if (whole != streamed)
      __builtin_trap();
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static Folder folder;
  if (!size)
    return 0;
  std::string_view input = textOf(data + 1, size - 1);
  size_t end = std::min(input.rfind('\0'), input.size());
  std::string_view file = input.substr(0, end);
  std::string_view text = input.substr(std::min(end + 1, input.size()));
  reads([&] {
    if (data[0] == 'h') {
      std::vector<std::string> texts = parts(input, 3);
      folder.write("tokenizer.json", texts[0]);
      folder.write("tokenizer_config.json", texts[1]);
      use(rt::specFromHuggingFace(folder.path()), texts[2]);
    } else if (data[0] == 'a') {
      use(rt::TokenizerSpec::fromBytes(file), text);
    } else if (data[0] == 's') {
      use(rt::specFromSentencePiece(file), text);
    }
  });
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  if (seed % 3 == 0 || size < 2 || data[0] != 'h')
    return LLVMFuzzerMutate(data, size, maxSize);
  std::vector<std::string> texts = parts(textOf(data + 1, size - 1), 3);
  std::string &one = texts[seed % 5 == 0];
  one = mutateJson(one, seed);
  return giveBack("h" + texts[0] + '\0' + texts[1] + '\0' + texts[2], data, maxSize);
}
