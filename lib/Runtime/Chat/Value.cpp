//===- Value.cpp - the values of a template -------------------------------===//
#include "Value.h"

#include "Text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace llmc::rt::chat {
namespace {

constexpr unsigned maxDepth = 200;
constexpr uint64_t maxWeight = uint64_t(256) << 20;

void checkDepth(unsigned depth) {
  if (depth > maxDepth)
    throw TemplateError("values are nested more than " + std::to_string(maxDepth) + " deep");
}

void checkWeight(uint64_t weight) {
  if (weight > maxWeight)
    throw TemplateError("a value has more than " + std::to_string(maxWeight >> 20) + " MiB");
}

} // namespace

const Value *Arguments::find(size_t place, std::string_view name) const {
  if (place < positional.size())
    return &positional[place];
  for (const auto &[key, value] : named)
    if (key == name)
      return &value;
  return nullptr;
}

const Value &Arguments::require(size_t place, std::string_view name) const {
  if (const Value *value = find(place, name))
    return *value;
  throw TemplateError("the argument \"" + std::string(name) + "\" is missing");
}

void Arguments::atMost(size_t count, std::string_view function) const {
  if (positional.size() > count)
    throw TemplateError(std::string(function) + " takes at most " + std::to_string(count) +
                        " arguments, not " + std::to_string(positional.size()));
}

Value::Value(List list) : Value(ofKind(ListKind::List, std::move(list))) {}

Value Value::ofKind(ListKind kind, List list) {
  unsigned depth = 0;
  uint64_t weight = 2;
  for (const Value &item : list) {
    depth = std::max(depth, item.depth());
    weight += item.weight() + 2;
  }
  checkDepth(++depth);
  checkWeight(weight);
  Value value;
  value.data = std::make_shared<const ListBox>(ListBox{std::move(list), depth, weight, kind, {}});
  return value;
}

Value Value::range(int64_t start, int64_t stop, int64_t step) {
  List items;
  for (int64_t i = start; step > 0 ? i < stop : i > stop;) {
    items.emplace_back(i);
    if (__builtin_add_overflow(i, step, &i))
      break;
  }
  uint64_t weight = 2 + 10 * items.size();
  Value value;
  value.data = std::make_shared<const ListBox>(
      ListBox{std::move(items), 1, weight, ListKind::Range, {start, stop, step}});
  return value;
}

Value Value::markup(std::string text) {
  Value value;
  value.data = std::make_shared<const TextBox>(TextBox{std::move(text), true});
  return value;
}

Items::Items(const Value &value) : source(value) {
  if (!value.isGenerator())
    items = value.iterate();
}

bool Items::next(Value &item) {
  if (!items)
    return source.generator()->next(item);
  if (at >= items->size())
    return false;
  item = (*items)[at++];
  return true;
}

Value makeGenerator(const Items &items, std::function<bool(Value &item)> next) {
  unsigned depth = items.depth() + 1;
  checkDepth(depth);
  return std::make_shared<Generator>(Generator{std::move(next), depth});
}

Value::Value(Dict dict) {
  unsigned depth = 0;
  uint64_t weight = 2;
  for (const auto &[key, value] : dict) {
    depth = std::max({depth, key.depth(), value.depth()});
    weight += key.weight() + value.weight() + 4;
  }
  checkDepth(++depth);
  checkWeight(weight);
  data = std::make_shared<const DictBox>(DictBox{std::move(dict), depth, weight});
}

Value Value::fromJson(const nlohmann::ordered_json &json, unsigned depth) {
  checkDepth(depth);
  switch (json.type()) {
  case nlohmann::json::value_t::boolean:
    return json.get<bool>();
  case nlohmann::json::value_t::number_integer:
    return json.get<int64_t>();
  case nlohmann::json::value_t::number_unsigned:
    if (json.get<uint64_t>() > uint64_t(std::numeric_limits<int64_t>::max()))
      return static_cast<double>(json.get<uint64_t>());
    return static_cast<int64_t>(json.get<uint64_t>());
  case nlohmann::json::value_t::number_float:
    return json.get<double>();
  case nlohmann::json::value_t::string:
    return json.get_ref<const std::string &>();
  case nlohmann::json::value_t::array: {
    List list;
    for (const auto &item : json)
      list.push_back(fromJson(item, depth + 1));
    return list;
  }
  case nlohmann::json::value_t::object: {
    Dict dict;
    for (const auto &[key, item] : json.items())
      dict.emplace_back(key, fromJson(item, depth + 1));
    return dict;
  }
  default:
    return {};
  }
}

int64_t Value::integer() const {
  if (isBool())
    return std::get<bool>(data);
  if (auto *number = std::get_if<int64_t>(&data))
    return *number;
  throw TemplateError(std::string("an integer is needed, not ") + typeName());
}

double Value::number() const {
  if (auto *number = std::get_if<double>(&data))
    return *number;
  if (isInteger())
    return static_cast<double>(integer());
  throw TemplateError(std::string("a number is needed, not ") + typeName());
}

const std::string &Value::text() const {
  if (auto *text = std::get_if<Text>(&data))
    return (*text)->text;
  throw TemplateError(std::string("a string is needed, not ") + typeName());
}

const List &Value::list() const {
  if (auto *list = std::get_if<ListData>(&data))
    return (*list)->items;
  throw TemplateError(std::string("a list is needed, not ") + typeName());
}

const Dict &Value::dict() const {
  if (auto *dict = std::get_if<DictData>(&data))
    return (*dict)->items;
  throw TemplateError(std::string("a mapping is needed, not ") + typeName());
}

const Callable *Value::callable() const {
  auto *callable = std::get_if<std::shared_ptr<Callable>>(&data);
  return callable ? callable->get() : nullptr;
}

Namespace *Value::space() const {
  auto *space = std::get_if<std::shared_ptr<Namespace>>(&data);
  return space ? space->get() : nullptr;
}

LoopState *Value::loop() const {
  auto *loop = std::get_if<std::shared_ptr<LoopState>>(&data);
  return loop ? loop->get() : nullptr;
}

Generator *Value::generator() const {
  auto *generator = std::get_if<std::shared_ptr<Generator>>(&data);
  return generator ? generator->get() : nullptr;
}

bool Value::isHashable() const {
  if (isTuple())
    return std::all_of(list().begin(), list().end(),
                       [](const Value &item) { return item.isHashable(); });
  return !isDict() && !isList(ListKind::List);
}

std::shared_ptr<const List> Value::sharedList() const {
  auto box = std::get<ListData>(data);
  return {box, &box->items};
}

unsigned Value::depth() const {
  if (auto *list = std::get_if<ListData>(&data))
    return (*list)->depth;
  if (auto *dict = std::get_if<DictData>(&data))
    return (*dict)->depth;
  return isGenerator() ? generator()->depth : 0;
}

uint64_t Value::weight() const {
  if (auto *list = std::get_if<ListData>(&data))
    return (*list)->weight;
  if (auto *dict = std::get_if<DictData>(&data))
    return (*dict)->weight;
  return isString() ? text().size() + 2 : 8;
}

bool Value::truthy() const {
  if (isUndefined() || isNone())
    return false;
  if (isFloat())
    return std::get<double>(data) != 0;
  if (isInteger())
    return integer() != 0;
  int64_t size = length();
  return size != 0; // a value without a length is true
}

const Value *Value::find(const Value &key) const {
  for (const auto &[candidate, value] : dict())
    if (candidate == key)
      return &value;
  return nullptr;
}

std::shared_ptr<const List> Value::iterate() const {
  if (isList())
    return sharedList();
  auto items = std::make_shared<List>();
  if (isDict()) {
    for (const auto &[key, value] : dict())
      items->push_back(key);
  } else if (isString()) {
    for (std::string_view character : charactersOf(text()))
      items->emplace_back(character);
  } else if (isGenerator()) {
    for (Value item; generator()->next(item);)
      items->push_back(item);
  } else if (!isUndefined()) {
    throw TemplateError(std::string(typeName()) + " cannot be iterated over");
  }
  return items;
}

int64_t Value::length() const {
  if (isUndefined())
    return 0;
  if (isString())
    return static_cast<int64_t>(characterCount(text()));
  if (isList())
    return static_cast<int64_t>(list().size());
  if (isDict())
    return static_cast<int64_t>(dict().size());
  return -1;
}

const char *Value::typeName() const {
  static constexpr const char *names[] = {
      "an undefined value", "none", "a boolean", "an integer",  "a float", "a string",
      "a list",             "a mapping", "a function", "a namespace", "loop",       "a generator"};
  if (isList() && !isList(ListKind::List))
    return isTuple() ? "a tuple" : isList(ListKind::Range) ? "a range" : "a view of a mapping";
  return names[data.index()];
}

std::string floatText(double number) {
  if (std::isnan(number))
    return "nan";
  if (std::isinf(number))
    return number < 0 ? "-inf" : "inf";
  // repr() has the shortest digits that read back, with an exponent where
  // there are more than 16 digits before the point or 4 zeros after it.
  char buffer[64];
  double size = std::fabs(number);
  bool scientific = number != 0 && (size >= 1e16 || size < 1e-4);
  auto end = std::to_chars(buffer, buffer + sizeof(buffer), number,
                           scientific ? std::chars_format::scientific : std::chars_format::fixed)
                 .ptr;
  std::string text(buffer, end);
  if (!scientific && text.find('.') == std::string::npos)
    text += ".0";
  return text;
}

std::string Value::str() const {
  if (isString())
    return text();
  if (isUndefined())
    return "";
  return repr();
}

std::string Value::repr() const {
  if (isNone() || isUndefined())
    return isNone() ? "None" : "Undefined";
  if (isBool())
    return std::get<bool>(data) ? "True" : "False";
  if (isInteger())
    return std::to_string(integer());
  if (isFloat())
    return floatText(std::get<double>(data));
  if (isString())
    return pythonQuoted(text());
  if (isList(ListKind::Range)) {
    auto [start, stop, step] = bounds();
    return "range(" + std::to_string(start) + ", " + std::to_string(stop) +
           (step == 1 ? ")" : ", " + std::to_string(step) + ")");
  }
  if (isList()) {
    static constexpr const char *opening[] = {"[",           "(",           "(", "",
                                              "dict_keys([", "dict_values([", "dict_items(["};
    std::string out;
    for (const Value &item : list())
      out += (out.empty() ? "" : ", ") + item.repr();
    if (isTuple() && list().size() == 1)
      out += ",";
    const char *end = isTuple() ? ")" : isList(ListKind::List) ? "]" : "])";
    return opening[size_t(listKind())] + out + end;
  }
  if (isDict()) {
    std::string out = "{";
    for (const auto &[key, value] : dict())
      out += (out.size() > 1 ? ", " : "") + key.repr() + ": " + value.repr();
    return out + "}";
  }
  if (const Callable *function = callable())
    return function->isMacro ? "<Macro '" + function->name + "'>"
                             : "<function " + function->name + ">";
  if (isGenerator())
    return "<generator>";
  return loop() ? "<LoopContext>" : "<Namespace>";
}

bool Value::operator==(const Value &other) const {
  if (isNumber() && other.isNumber()) {
    if (isInteger() && other.isInteger())
      return integer() == other.integer();
    return number() == other.number();
  }
  if (data.index() != other.data.index())
    return false;
  if (isUndefined() || isNone())
    return true;
  if (isString())
    return text() == other.text();
  if (isList()) {
    bool sameKind = listKind() == other.listKind() || (isTuple() && other.isTuple());
    return sameKind && list() == other.list();
  }
  if (isDict()) {
    if (dict().size() != other.dict().size())
      return false;
    return std::all_of(dict().begin(), dict().end(), [&](const auto &entry) {
      const Value *found = other.find(entry.first);
      return found && *found == entry.second;
    });
  }
  return callable() == other.callable() && space() == other.space() && loop() == other.loop() &&
         generator() == other.generator();
}

bool Value::less(const Value &a, const Value &b) {
  if (a.isInteger() && b.isInteger())
    return a.integer() < b.integer();
  if (a.isNumber() && b.isNumber())
    return a.number() < b.number();
  if (a.isString() && b.isString())
    return a.text() < b.text(); // UTF-8 sorts like code points
  if (a.isList() && b.isList() && (a.listKind() == b.listKind() || (a.isTuple() && b.isTuple())))
    return std::lexicographical_compare(a.list().begin(), a.list().end(), b.list().begin(),
                                        b.list().end(), less);
  throw TemplateError(std::string(a.typeName()) + " and " + b.typeName() +
                      " have no order between them");
}

} // namespace llmc::rt::chat
