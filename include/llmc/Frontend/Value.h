//===- Value.h - values of the description language -------------*- C++ -*-===//
#ifndef LLMC_FRONTEND_VALUE_H
#define LLMC_FRONTEND_VALUE_H

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace llmc::frontend {

/// Where a text of a description stands.
struct SourceLocation {
  std::string file;
  uint32_t line = 0, column = 0;
  /// The expression or statement, for messages.
  std::string text;

  /// "file:line:column".
  std::string position() const;
};

/// A parameter of the model: a role of the description. The family says names, shape,
/// layers and storage (ResolvedModel::families); a per-layer one is indexed by the layer
/// the block is run for.
struct WeightRef {
  std::string role;
  uint32_t family = 0;
  /// Family of the role's bias, -1 when it has none.
  int32_t biasFamily = -1;
  bool perLayer = false;
  bool operator==(const WeightRef &) const = default;
};

/// A tensor of the hooks' own; the interpreter only passes it on.
struct Handle {
  uint64_t id = 0;
  bool operator==(const Handle &) const = default;
};

/// A rotary embedding record: index into ResolvedModel::ropes.
struct RopeRef {
  uint32_t index = 0;
  bool operator==(const RopeRef &) const = default;
};

struct Value;
using ValueList = std::vector<Value>;

/// A value: null, or one of the alternatives. An absent config key is `Absent`, which only
/// `default`, `present` and `??` accept: null, absent and a default are three things.
struct Value {
  struct Absent {
    /// The config key, for the message when it is used.
    std::string key;
    bool operator==(const Absent &) const = default;
  };
  using Storage = std::variant<std::monostate, bool, int64_t, double, std::string, ValueList,
                               WeightRef, Handle, RopeRef, Absent>;
  Storage storage;

  Value() = default;
  Value(bool value) : storage(value) {}
  Value(int64_t value) : storage(value) {}
  Value(int value) : storage(int64_t(value)) {}
  Value(double value) : storage(value) {}
  Value(std::string value) : storage(std::move(value)) {}
  Value(const char *value) : storage(std::string(value)) {}
  Value(ValueList value) : storage(std::move(value)) {}
  Value(WeightRef value) : storage(std::move(value)) {}
  Value(Handle value) : storage(value) {}
  Value(RopeRef value) : storage(value) {}
  Value(Absent value) : storage(std::move(value)) {}

  template <typename T>
  bool is() const {
    return std::holds_alternative<T>(storage);
  }
  template <typename T>
  const T *get() const {
    return std::get_if<T>(&storage);
  }
  bool isNull() const { return is<std::monostate>(); }
  bool isAbsent() const { return is<Absent>(); }
  bool isNumber() const { return is<int64_t>() || is<double>(); }
  /// The number as double; 0 when it is none.
  double asDouble() const;
  /// "integer", "text", "weight", ...
  const char *kindName() const;
  /// Canonical text: equal texts for equal values of one kind.
  std::string toText() const;

  bool operator==(const Value &) const = default;
};

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_VALUE_H
