//===- Value.h - the values of a template -----------------------*- C++ -*-===//
#ifndef LLMC_LIB_RUNTIME_CHAT_VALUE_H
#define LLMC_LIB_RUNTIME_CHAT_VALUE_H

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace llmc::rt::chat {

/// What goes wrong while a template runs. The interpreter adds the place and
/// turns it into an InputError.
struct TemplateError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Value;
using List = std::vector<Value>;
/// In the order of insertion, as Python's. They are small: looked up one by one.
using Dict = std::vector<std::pair<Value, Value>>;

struct Undefined {
  std::string name; ///< for messages
};
struct None {};

/// The arguments of a call, with what Python does to them.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;

  /// The argument at a place or of a name; null when it is absent.
  const Value *find(size_t place, std::string_view name) const;
  const Value &require(size_t place, std::string_view name) const;
  void atMost(size_t count, std::string_view function) const;
};

struct Callable {
  std::string name;
  std::function<Value(const Arguments &)> call;
};

/// `namespace()`: the only thing a template can change.
struct Namespace {
  std::vector<std::pair<std::string, Value>> members;
};

/// The state behind `loop`.
struct LoopState {
  std::shared_ptr<const List> items;
  size_t index = 0;
  size_t depth = 1;
  std::vector<Value> lastChanged;
  bool changedOnce = false;
};

class Value {
public:
  Value() : data(None{}) {}
  Value(Undefined undefined) : data(std::move(undefined)) {}
  Value(bool flag) : data(flag) {}
  Value(int64_t number) : data(number) {}
  Value(double number) : data(number) {}
  Value(std::string text) : data(std::make_shared<const std::string>(std::move(text))) {}
  Value(std::string_view text) : Value(std::string(text)) {}
  Value(const char *text) : Value(std::string(text)) {}
  Value(List list);
  Value(Dict dict);
  Value(std::shared_ptr<Callable> callable) : data(std::move(callable)) {}
  Value(std::shared_ptr<Namespace> space) : data(std::move(space)) {}
  Value(std::shared_ptr<LoopState> loop) : data(std::move(loop)) {}
  static Value fromJson(const nlohmann::ordered_json &json, unsigned depth = 0);

  bool isUndefined() const { return std::holds_alternative<Undefined>(data); }
  bool isNone() const { return std::holds_alternative<None>(data); }
  bool isBool() const { return std::holds_alternative<bool>(data); }
  /// As in Python, where True is the integer 1.
  bool isInteger() const { return isBool() || std::holds_alternative<int64_t>(data); }
  bool isFloat() const { return std::holds_alternative<double>(data); }
  bool isNumber() const { return isInteger() || isFloat(); }
  bool isString() const { return std::holds_alternative<Text>(data); }
  bool isList() const { return std::holds_alternative<ListData>(data); }
  bool isDict() const { return std::holds_alternative<DictData>(data); }
  bool isCallable() const { return std::holds_alternative<std::shared_ptr<Callable>>(data); }

  // Each throws TemplateError when the value is something else.
  int64_t integer() const;
  double number() const;
  const std::string &text() const;
  const List &list() const;
  const Dict &dict() const;

  const std::string &undefinedName() const { return std::get<Undefined>(data).name; }
  const Callable *callable() const;
  Namespace *space() const;
  LoopState *loop() const;
  std::shared_ptr<const List> sharedList() const;

  bool truthy() const;
  /// The member of a dict, or null.
  const Value *find(const Value &key) const;
  /// What a for loop goes over: list items, dict keys, characters.
  std::shared_ptr<const List> iterate() const;
  /// len(); -1 for a value without one.
  int64_t length() const;
  /// str().
  std::string str() const;
  /// repr().
  std::string repr() const;
  const char *typeName() const;
  /// How deep lists and mappings are nested.
  unsigned depth() const;
  /// About the bytes that printing takes, with shared parts counted each time.
  uint64_t weight() const;

  bool operator==(const Value &other) const;
  /// < of numbers, strings and lists; TemplateError for others.
  static bool less(const Value &a, const Value &b);

private:
  // Depth and weight are kept with the data and bounded: a loop may nest values
  // (freeing and printing recurse) and double them (x = [x, x]).
  struct ListBox {
    List items;
    unsigned depth;
    uint64_t weight;
  };
  struct DictBox {
    Dict items;
    unsigned depth;
    uint64_t weight;
  };
  using Text = std::shared_ptr<const std::string>;
  using ListData = std::shared_ptr<const ListBox>;
  using DictData = std::shared_ptr<const DictBox>;
  std::variant<Undefined, None, bool, int64_t, double, Text, ListData, DictData,
               std::shared_ptr<Callable>, std::shared_ptr<Namespace>, std::shared_ptr<LoopState>>
      data;
};

/// json.dumps with ensure_ascii=False. \p indent below 0: on one line.
std::string toJson(const Value &value, int64_t indent, const std::string &itemSeparator,
                   const std::string &keySeparator, bool sortKeys);

/// Python's spelling of a float.
std::string floatText(double number);

} // namespace llmc::rt::chat

#endif // LLMC_LIB_RUNTIME_CHAT_VALUE_H
