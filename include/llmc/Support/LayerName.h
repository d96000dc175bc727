//===- LayerName.h - names with places for numbers -------------*- C++ -*-===//
#ifndef LLMC_SUPPORT_LAYERNAME_H
#define LLMC_SUPPORT_LAYERNAME_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace llmc {

/// The name with every `{i}` and `{i+1}` replaced by that number.
inline std::string resolveLayer(llvm::StringRef name, int64_t layer) {
  std::string resolved;
  while (!name.empty()) {
    if (name.consume_front("{i}")) {
      resolved += std::to_string(layer);
    } else if (name.consume_front("{i+1}")) {
      resolved += std::to_string(layer + 1);
    } else {
      resolved += name.front();
      name = name.drop_front();
    }
  }
  return resolved;
}

/// The name with every `{e}` replaced by that number.
inline std::string resolveExpert(llvm::StringRef name, int64_t expert) {
  std::string resolved;
  while (!name.empty()) {
    if (name.consume_front("{e}")) {
      resolved += std::to_string(expert);
    } else {
      resolved += name.front();
      name = name.drop_front();
    }
  }
  return resolved;
}

} // namespace llmc

#endif // LLMC_SUPPORT_LAYERNAME_H
