//===- Filter.h - what the tables of filters are made with ------*- C++ -*-===//
#ifndef LLMC_LIB_RUNTIME_CHAT_FILTER_H
#define LLMC_LIB_RUNTIME_CHAT_FILTER_H

#include "Interpreter.h"

/// A row's function: its body sees `interpreter`, `value` and `arguments`.
#define LLMC_FILTER(...)                                                                           \
  [](Interpreter & interpreter, const Value &value, const Arguments &arguments) -> Value {         \
    (void)interpreter, (void)arguments;                                                            \
    __VA_ARGS__                                                                                    \
  }

namespace llmc::rt::chat {

/// An argument that is true or false.
inline bool flag(const Arguments &arguments, size_t place, const char *name, bool fallback) {
  const Value *value = arguments.find(place, name);
  return value ? value->truthy() : fallback;
}

} // namespace llmc::rt::chat

#endif // LLMC_LIB_RUNTIME_CHAT_FILTER_H
