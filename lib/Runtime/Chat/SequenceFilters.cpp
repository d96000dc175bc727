//===- SequenceFilters.cpp - filters of lists and mappings ----------------===//
//
// Where Jinja returns a generator, so do these: nothing is computed, and no
// error raised, before an item is asked for, and each item is there once.
//
//===----------------------------------------------------------------------===//
#include "Filter.h"
#include "Text.h"

#include <algorithm>
#include <charconv>
#include <list>
#include <numeric>
#include <unordered_map>

namespace llmc::rt::chat {
namespace {

/// A member by a path such as "function.name"; numbers are indices. What is
/// undefined on the way becomes the fallback, where there is one.
Value member(Interpreter &interpreter, Value value, const Value &path,
             const Value &fallback = Value()) {
  auto orElse = [&](Value found) {
    return found.isUndefined() && !fallback.isNone() ? fallback : found;
  };
  if (path.isInteger())
    return orElse(interpreter.item(value, path));
  std::string_view rest = path.text();
  while (true) {
    size_t dot = rest.find('.');
    std::string name(rest.substr(0, dot));
    int64_t index = 0;
    auto parsed = std::from_chars(name.data(), name.data() + name.size(), index);
    bool isIndex = parsed.ec == std::errc() && parsed.ptr == name.data() + name.size();
    // Unlike the dot of an expression, this looks at members first.
    value = orElse(interpreter.item(value, isIndex ? Value(index) : Value(name)));
    if (dot == std::string_view::npos)
      return value;
    rest.remove_prefix(dot + 1);
  }
}

Arguments withoutFirst(const Arguments &arguments, size_t count) {
  Arguments rest;
  rest.named = arguments.named;
  if (arguments.positional.size() > count)
    rest.positional.assign(arguments.positional.begin() + static_cast<ptrdiff_t>(count),
                           arguments.positional.end());
  return rest;
}

/// The items of a value; none where it is false, as of None.
Items itemsOf(Interpreter &interpreter, const Value &value) {
  return interpreter.items(value.truthy() ? value : Value(List{}));
}

/// select, reject, selectattr and rejectattr.
Value chosen(Interpreter &interpreter, const Value &value, const Arguments &arguments,
             bool byMember, bool keep) {
  size_t skip = byMember ? 1 : 0;
  if (byMember)
    arguments.require(0, "attribute");
  Value path = byMember ? arguments.positional.at(0) : Value();
  const Value *test = arguments.find(skip, "");
  std::string name = test ? test->text() : "";
  Arguments rest = withoutFirst(arguments, skip + 1);
  Items items = itemsOf(interpreter, value);
  auto next = [&interpreter, items, byMember, keep, path, name, rest,
               hasTest = test != nullptr](Value &item) mutable {
    while (items.next(item)) {
      interpreter.charge(sizeof(Value));
      Value tested = byMember ? member(interpreter, item, path) : item;
      bool holds = hasTest ? interpreter.test(name, tested, rest) : tested.truthy();
      if (holds == keep)
        return true;
    }
    return false;
  };
  return makeGenerator(items, std::move(next));
}

Value mapped(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  Value path, fallback;
  bool byMember = false;
  for (const auto &[name, argument] : arguments.named) {
    if (name == "attribute") {
      path = argument;
      byMember = true;
    } else if (name == "default") {
      fallback = argument;
    }
  }
  byMember = byMember && arguments.positional.empty();
  std::string name = byMember ? "" : arguments.require(0, "filter").text();
  Arguments rest = withoutFirst(arguments, 1);
  Items items = itemsOf(interpreter, value);
  auto next = [&interpreter, items, path, fallback, byMember, name, rest](Value &item) mutable {
    if (!items.next(item))
      return false;
    interpreter.charge(sizeof(Value));
    if (byMember) {
      item = member(interpreter, item, path, fallback);
    } else {
      item = interpreter.filter(name, item, rest);
    }
    return true;
  };
  return makeGenerator(items, std::move(next));
}

/// The members that several paths with commas between them name, or the item.
Value keyOf(Interpreter &interpreter, const Value &item, const Value *path, bool caseSensitive,
            bool severalPaths) {
  auto folded = [&](Value key) {
    return key.isString() && !caseSensitive ? Value(lower(key.text())) : key;
  };
  if (!path || path->isNone())
    return folded(item);
  if (!severalPaths || !path->isString() || path->text().find(',') == std::string::npos)
    return folded(member(interpreter, item, *path));
  List keys;
  std::string_view rest = path->text();
  while (true) {
    size_t comma = rest.find(',');
    keys.push_back(folded(member(interpreter, item, Value(rest.substr(0, comma)))));
    if (comma == std::string_view::npos)
      return keys;
    rest.remove_prefix(comma + 1);
  }
}

/// What sort, min, max and groupby compare.
List keysOf(Interpreter &interpreter, const List &items, const Value *path, bool caseSensitive,
            bool severalPaths = false) {
  List keys;
  for (const Value &item : items) {
    keys.push_back(keyOf(interpreter, item, path, caseSensitive, severalPaths));
    interpreter.charge(keys.back().weight());
  }
  return keys;
}

/// Places of keys in order. Equal keys stay as they are, in reverse, too.
std::vector<size_t> orderOf(const List &keys, bool reverse) {
  // Python compares before it swaps: what has no order is an error even where
  // it would not move.
  for (size_t i = 1; i < keys.size(); ++i)
    (void)Value::less(keys[i], keys[i - 1]);
  // A list is merged, which is stable and safe with NaN, whose order is none.
  std::list<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), size_t(0));
  order.sort([&](size_t a, size_t b) {
    return reverse ? Value::less(keys[b], keys[a]) : Value::less(keys[a], keys[b]);
  });
  return {order.begin(), order.end()};
}

Value sorted(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  auto items = interpreter.iterate(value);
  List keys = keysOf(interpreter, *items, arguments.find(2, "attribute"),
                     flag(arguments, 1, "case_sensitive", false), true);
  List out;
  for (size_t i : orderOf(keys, flag(arguments, 0, "reverse", false)))
    out.push_back((*items)[i]);
  return out;
}

Value extreme(Interpreter &interpreter, const Value &value, const Arguments &arguments,
              bool largest) {
  auto items = interpreter.iterate(value);
  if (items->empty())
    return Undefined{"no item"};
  List keys = keysOf(interpreter, *items, arguments.find(1, "attribute"),
                     flag(arguments, 0, "case_sensitive", false));
  size_t best = 0;
  for (size_t i = 1; i < keys.size(); ++i)
    if (largest ? Value::less(keys[best], keys[i]) : Value::less(keys[i], keys[best]))
      best = i;
  return (*items)[best];
}

Value unique(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  bool sensitive = flag(arguments, 0, "case_sensitive", false);
  const Value *given = arguments.find(1, "attribute");
  Value path = given ? *given : Value();
  Items items = interpreter.items(value);
  auto next = [&interpreter, items, path, sensitive, seen = List()](Value &item) mutable {
    while (items.next(item)) {
      interpreter.charge(seen.size() + sizeof(Value)); // the search is quadratic
      Value key = keyOf(interpreter, item, &path, sensitive, false);
      if (!key.isHashable())
        throw TemplateError(std::string("unique cannot compare ") + key.typeName());
      if (std::find(seen.begin(), seen.end(), key) == seen.end()) {
        seen.push_back(std::move(key));
        return true;
      }
    }
    return false;
  };
  return makeGenerator(items, std::move(next));
}

Value pairOf(Value first, Value second) {
  return Value::ofKind(ListKind::Tuple, {std::move(first), std::move(second)});
}

Value dictSorted(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  bool sensitive = flag(arguments, 0, "case_sensitive", false);
  const Value *by = arguments.find(1, "by");
  std::string what = by ? by->text() : "key";
  if (what != "key" && what != "value")
    throw TemplateError("dictsort sorts by key or value, not by \"" + what + "\"");
  const Dict &dict = value.dict();
  List parts;
  for (const auto &[key, item] : dict)
    parts.push_back(what == "value" ? item : key);
  List keys = keysOf(interpreter, parts, nullptr, sensitive), out;
  for (size_t i : orderOf(keys, flag(arguments, 2, "reverse", false)))
    out.push_back(pairOf(dict[i].first, dict[i].second));
  return out;
}

/// Pairs of a key and the items that have it, by key.
Value groupedBy(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Value &path = arguments.require(0, "attribute");
  const Value *given = arguments.find(1, "default");
  Value fallback = given ? *given : Value();
  bool sensitive = flag(arguments, 2, "case_sensitive", false);
  auto items = interpreter.iterate(value);
  List members;
  for (const Value &item : *items)
    members.push_back(member(interpreter, item, path, fallback));
  List keys = keysOf(interpreter, members, nullptr, sensitive), out, group;
  std::vector<size_t> order = orderOf(keys, false);
  for (size_t i = 0; i < order.size(); ++i) {
    group.push_back((*items)[order[i]]);
    interpreter.charge(sizeof(Value));
    if (i + 1 < order.size() && keys[order[i + 1]] == keys[order[i]])
      continue;
    size_t first = order[i + 1 - group.size()];
    out.push_back(Value::ofKind(ListKind::Group, {members[first], std::exchange(group, List{})}));
  }
  return out;
}

/// Rows of a length; the last one is filled up where there is something for it.
Value batched(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  int64_t length = arguments.require(0, "linecount").integer();
  const Value *given = arguments.find(1, "fill_with");
  Value fill = given ? *given : Value();
  Items items = interpreter.items(value);
  auto next = [&interpreter, items, length, fill](Value &row) mutable {
    List list;
    for (Value item; (list.empty() || static_cast<int64_t>(list.size()) < length) &&
                     items.next(item);) {
      interpreter.charge(sizeof(Value));
      list.push_back(item);
    }
    if (list.empty())
      return false;
    while (!fill.isNone() && static_cast<int64_t>(list.size()) < length) {
      interpreter.charge(sizeof(Value));
      list.push_back(fill);
    }
    row = Value(std::move(list));
    return true;
  };
  return makeGenerator(items, std::move(next));
}

/// So many columns, as equal as they can be, the longer ones first.
Value sliced(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  int64_t count = arguments.require(0, "slices").integer();
  if (count <= 0)
    throw TemplateError("slice needs at least one slice");
  interpreter.charge(static_cast<uint64_t>(std::min<int64_t>(count, int64_t(1) << 40)) *
                     sizeof(Value));
  const Value *fill = arguments.find(1, "fill_with");
  auto items = interpreter.iterate(value);
  auto size = static_cast<int64_t>(items->size());
  int64_t each = size / count, longer = size % count;
  List columns;
  for (int64_t i = 0, at = 0; i < count; ++i) {
    List column;
    for (int64_t end = at + each + (i < longer); at < end; ++at)
      column.push_back((*items)[static_cast<size_t>(at)]);
    if (fill && !fill->isNone() && i >= longer)
      column.push_back(*fill);
    columns.emplace_back(std::move(column));
  }
  Items rows{Value(std::move(columns))};
  return makeGenerator(rows, [rows](Value &row) mutable { return rows.next(row); });
}

Value pairs(const Value &value) {
  if (!value.isUndefined() && !value.isDict())
    throw TemplateError(std::string("items works on mappings, not on ") + value.typeName());
  List list;
  if (value.isDict())
    for (const auto &[key, item] : value.dict())
      list.push_back(pairOf(key, item));
  Items items{Value(std::move(list))};
  return makeGenerator(items, [items](Value &item) mutable { return items.next(item); });
}

Value joined(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Value *by = arguments.find(0, "d"), *path = arguments.find(1, "attribute");
  std::string separator = by ? by->str() : "", out;
  auto items = interpreter.iterate(value);
  for (size_t i = 0; i < items->size(); ++i) {
    std::string text = (path ? member(interpreter, (*items)[i], *path) : (*items)[i]).str();
    interpreter.charge(text.size() + separator.size());
    if (i)
      out += separator;
    out += text;
  }
  return out;
}

Value total(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Value *path = arguments.find(0, "attribute"), *start = arguments.find(1, "start");
  Value sum = start ? *start : Value(int64_t(0));
  auto items = interpreter.iterate(value);
  for (const Value &item : *items)
    sum = applyBinary(interpreter, "+", sum,
                      path && !path->isNone() ? member(interpreter, item, *path) : item);
  return sum;
}

Value reversed(Interpreter &interpreter, const Value &value) {
  if (value.isString())
    return sliceOf(value, {}, {}, int64_t(-1));
  List out = *interpreter.iterate(value);
  std::reverse(out.begin(), out.end());
  Items items{Value(std::move(out))};
  return makeGenerator(items, [items](Value &item) mutable { return items.next(item); });
}

Value firstItem(Interpreter &interpreter, const Value &value) {
  Value item;
  return interpreter.items(value).next(item) ? item : Value(Undefined{"no item"});
}

Value lastItem(Interpreter &interpreter, const Value &value) {
  if (value.isGenerator())
    throw TemplateError("a generator has no last item; put `list` before it");
  auto items = interpreter.iterate(value);
  return items->empty() ? Value(Undefined{"no item"}) : items->back();
}

} // namespace

FilterFunction findSequenceFilter(const std::string &name) {
  static const std::unordered_map<std::string_view, FilterFunction> table = {
      {"batch", batched},
      {"dictsort", dictSorted},
      {"first", LLMC_FILTER(return firstItem(interpreter, value);)},
      {"groupby", groupedBy},
      {"items", LLMC_FILTER(return pairs(value);)},
      {"join", joined},
      {"last", LLMC_FILTER(return lastItem(interpreter, value);)},
      {"list", LLMC_FILTER(return *interpreter.iterate(value);)},
      {"map", mapped},
      {"max", LLMC_FILTER(return extreme(interpreter, value, arguments, true);)},
      {"min", LLMC_FILTER(return extreme(interpreter, value, arguments, false);)},
      {"reject", LLMC_FILTER(return chosen(interpreter, value, arguments, false, false);)},
      {"rejectattr", LLMC_FILTER(return chosen(interpreter, value, arguments, true, false);)},
      {"reverse", LLMC_FILTER(return reversed(interpreter, value);)},
      {"select", LLMC_FILTER(return chosen(interpreter, value, arguments, false, true);)},
      {"selectattr", LLMC_FILTER(return chosen(interpreter, value, arguments, true, true);)},
      {"slice", sliced},
      {"sort", sorted},
      {"sum", total},
      {"unique", unique},
  };
  auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

} // namespace llmc::rt::chat
