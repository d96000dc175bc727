//===- ChatTemplate.cpp - a template and a conversation -------------------===//
//
// The template, a NUL, and JSON: a list is a conversation, an object the
// variables of a plain rendering.
//
//===----------------------------------------------------------------------===//
#include "Support.h"
#include "llmc/Runtime/ChatTemplate.h"

using namespace llmc;
using namespace llmc::fuzz;
using nlohmann::ordered_json;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::vector<std::string> texts = parts(textOf(data, size), 2);
  ordered_json input = ordered_json::parse(texts[1], nullptr, /*allow_exceptions=*/false);
  if (!input.is_structured())
    input = ordered_json::array({{{"role", "user"}, {"content", "hi"}}});
  // Tight, so that an input that exhausts them is still a fast one.
  rt::TemplateLimits limits;
  limits.maxOutputBytes = size_t(1) << 16;
  limits.maxSteps = 50'000;
  limits.maxWorkBytes = size_t(1) << 22;
  reads([&] {
    rt::ChatTemplate parsed(texts[0], limits);
    std::string text;
    if (input.is_array()) {
      rt::ChatOptions options;
      options.bosToken = "<s>";
      options.eosToken = "</s>";
      options.now = 0;
      text = parsed.renderChat(input, options);
    } else {
      text = parsed.render(input, 0);
    }
    if (text.size() > limits.maxOutputBytes)
      __builtin_trap();
  });
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  if (seed % 4)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::vector<std::string> texts = parts(textOf(data, size), 2);
  return giveBack(texts[0] + '\0' + mutateJson(texts[1], seed), data, maxSize);
}
