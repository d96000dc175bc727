//===- LocationText.cpp - a location as people read it --------------------===//
#include "LocationText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace llmc {

/// Adds the texts of the parts, each once.
static void collect(Location location, std::vector<std::string> &texts) {
  auto add = [&](std::string text) {
    if (!llvm::is_contained(texts, text))
      texts.push_back(std::move(text));
  };
  if (auto fused = dyn_cast<FusedLoc>(location)) {
    for (Location part : fused.getLocations())
      collect(part, texts);
  } else if (auto name = dyn_cast<NameLoc>(location)) {
    add(name.getName().str());
  } else if (auto file = dyn_cast<FileLineColRange>(location)) {
    add(file.getFilename().str() + ":" + std::to_string(file.getStartLine()) + ":" +
        std::to_string(file.getStartColumn()));
  } else if (auto call = dyn_cast<CallSiteLoc>(location)) {
    collect(call.getCallee(), texts);
  }
}

std::string locationText(Location location) {
  std::vector<std::string> texts;
  collect(location, texts);
  if (texts.empty())
    return "-";
  if (texts.size() == 1)
    return texts[0];
  // Places in a file are no paths: the dot in a file's name divides nothing.
  if (llvm::any_of(texts, [](StringRef text) { return text.contains(':'); }))
    return "{" + llvm::join(texts, ", ") + "}";
  // Shorten to what differs, at a dot.
  StringRef common = texts[0];
  for (StringRef text : texts) {
    size_t length = 0, end = std::min(common.size(), text.size());
    while (length < end && common[length] == text[length])
      ++length;
    common = common.take_front(length);
  }
  common = common.take_front(common.rfind('.') + 1);
  SmallVector<StringRef> rest;
  for (StringRef text : texts)
    rest.push_back(text.drop_front(common.size()));
  return common.str() + "{" + llvm::join(rest, ", ") + "}";
}

} // namespace llmc
