//===- JsonError.h - messages of the JSON library for users -----*- C++ -*-===//
#ifndef LLMC_SUPPORT_JSONERROR_H
#define LLMC_SUPPORT_JSONERROR_H

#include <nlohmann/json.hpp>
#include <string>

namespace llmc {

/// "byte 12: unexpected ']'; expected ..." for text that is no JSON, and "type must be string, but
/// is number" for a value of the wrong kind: without the library's own numbers and names.
inline std::string jsonErrorText(const nlohmann::json::exception &error) {
  std::string text = error.what();
  if (size_t end = text.find("] "); text.starts_with("[json.exception.") && end != std::string::npos)
    text.erase(0, end + 2);
  auto *parse = dynamic_cast<const nlohmann::json::parse_error *>(&error);
  if (!parse)
    return text;
  if (size_t reason = text.find(" - "); reason != std::string::npos)
    text.erase(0, reason + 3);
  return "byte " + std::to_string(parse->byte) + ": " + text;
}

} // namespace llmc

#endif // LLMC_SUPPORT_JSONERROR_H
