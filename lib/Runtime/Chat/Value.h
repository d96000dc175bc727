//===- Value.h - the values of a template -----------------------*- C++ -*-===//
#ifndef LLMC_LIB_RUNTIME_CHAT_VALUE_H
#define LLMC_LIB_RUNTIME_CHAT_VALUE_H

#include <array>
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
  bool isMacro = false;
  std::vector<std::string> parameters = {}; ///< of a macro
};

/// What Python's sequences of values differ in.
enum class ListKind {
  List,
  Tuple,
  Group, ///< of groupby: a tuple whose items are also `grouper` and `list`
  Range,
  Keys, Values, Items, ///< views of a mapping: no indices
};

/// What filters such as map return: items that are computed when they are asked
/// for, once.
struct Generator;

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
  /// Of a recursive loop: its body over other items.
  std::function<Value(const Value &)> recurse;
};

class Value {
public:
  Value() : data(None{}) {}
  Value(Undefined undefined) : data(std::move(undefined)) {}
  Value(bool flag) : data(flag) {}
  Value(int64_t number) : data(number) {}
  Value(double number) : data(number) {}
  Value(std::string text) : data(std::make_shared<const TextBox>(TextBox{std::move(text), false})) {}
  Value(std::string_view text) : Value(std::string(text)) {}
  Value(const char *text) : Value(std::string(text)) {}
  Value(List list);
  Value(Dict dict);
  Value(std::shared_ptr<Callable> callable) : data(std::move(callable)) {}
  Value(std::shared_ptr<Namespace> space) : data(std::move(space)) {}
  Value(std::shared_ptr<LoopState> loop) : data(std::move(loop)) {}
  Value(std::shared_ptr<Generator> generator) : data(std::move(generator)) {}
  static Value ofKind(ListKind kind, List list);
  static Value range(int64_t start, int64_t stop, int64_t step);
  /// A string that counts as escaped (Markup of Python).
  static Value markup(std::string text);
  static Value fromJson(const nlohmann::ordered_json &json, unsigned depth = 0);

  bool isUndefined() const { return std::holds_alternative<Undefined>(data); }
  bool isNone() const { return std::holds_alternative<None>(data); }
  bool isBool() const { return std::holds_alternative<bool>(data); }
  /// As in Python, where True is the integer 1.
  bool isInteger() const { return isBool() || std::holds_alternative<int64_t>(data); }
  bool isFloat() const { return std::holds_alternative<double>(data); }
  bool isNumber() const { return isInteger() || isFloat(); }
  bool isString() const { return std::holds_alternative<Text>(data); }
  bool isMarkup() const { return isString() && std::get<Text>(data)->markup; }
  /// A list, tuple, range or view.
  bool isList() const { return std::holds_alternative<ListData>(data); }
  bool isList(ListKind kind) const { return isList() && listKind() == kind; }
  bool isTuple() const { return isList(ListKind::Tuple) || isList(ListKind::Group); }
  /// A list that has indices: no view.
  bool isIndexed() const {
    return isList(ListKind::List) || isTuple() || isList(ListKind::Range);
  }
  /// Start, stop and step of a range.
  const std::array<int64_t, 3> &bounds() const { return std::get<ListData>(data)->bounds; }
  ListKind listKind() const { return std::get<ListData>(data)->kind; }
  bool isGenerator() const { return std::holds_alternative<std::shared_ptr<Generator>>(data); }
  bool isHashable() const;
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
  Generator *generator() const;
  std::shared_ptr<const List> sharedList() const;

  bool truthy() const;
  /// The member of a dict, or null.
  const Value *find(const Value &key) const;
  /// What a for loop goes over: list items, dict keys, characters, what a
  /// generator still has.
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
    ListKind kind;
    std::array<int64_t, 3> bounds; ///< of a range: start, stop, step
  };
  struct DictBox {
    Dict items;
    unsigned depth;
    uint64_t weight;
  };
  struct TextBox {
    std::string text;
    bool markup;
  };
  using Text = std::shared_ptr<const TextBox>;
  using ListData = std::shared_ptr<const ListBox>;
  using DictData = std::shared_ptr<const DictBox>;
  std::variant<Undefined, None, bool, int64_t, double, Text, ListData, DictData,
               std::shared_ptr<Callable>, std::shared_ptr<Namespace>, std::shared_ptr<LoopState>,
               std::shared_ptr<Generator>>
      data;
};

struct Generator {
  /// The next item, or nothing at the end. Throws TemplateError.
  std::function<bool(Value &item)> next;
  unsigned depth; ///< generators within each other: they are asked by recursion
};

/// One item after the other of whatever can be iterated over, without asking a
/// generator for more than is taken.
class Items {
public:
  explicit Items(const Value &value);
  bool next(Value &item);
  unsigned depth() const { return source.depth(); }

private:
  Value source;
  std::shared_ptr<const List> items; ///< null for a generator
  size_t at = 0;
};

/// A generator of \p next, which asks \p items for its own.
Value makeGenerator(const Items &items, std::function<bool(Value &item)> next);

/// json.dumps. Nothing for \p indent: on one line.
struct JsonStyle {
  bool ensureAscii = false, sortKeys = false, multiline = false;
  std::string indent, item = ", ", key = ": ";
};
std::string toJson(const Value &value, const JsonStyle &style);

/// Python's spelling of a float.
std::string floatText(double number);

} // namespace llmc::rt::chat

#endif // LLMC_LIB_RUNTIME_CHAT_VALUE_H
