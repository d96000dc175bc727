//===- Methods.cpp - methods of strings, lists, mappings and loop ---------===//
#include "Interpreter.h"
#include "Text.h"

#include <algorithm>
#include <unordered_map>

namespace llmc::rt::chat {

std::string replaceAll(Interpreter &interpreter, const std::string &text, const std::string &from,
                       const std::string &to, int64_t count) {
  std::string out;
  if (from.empty()) {
    // Python puts the new text around every character.
    interpreter.charge(text.size() * sizeof(std::string_view));
    auto characters = charactersOf(text);
    for (size_t i = 0; i <= characters.size(); ++i) {
      if (count != 0) {
        interpreter.charge(to.size());
        out += to;
        --count;
      }
      if (i < characters.size())
        out += characters[i];
    }
    return out;
  }
  size_t done = 0;
  for (size_t at; count != 0 && (at = text.find(from, done)) != std::string::npos; --count) {
    interpreter.charge(to.size());
    out.append(text, done, at - done);
    out += to;
    done = at + from.size();
  }
  return out.append(text, done);
}

namespace {

using Method = Value (*)(Interpreter &, const Value &, const Arguments &);

Value split(Interpreter &interpreter, const std::string &text, const Arguments &arguments, bool fromRight) {
  const Value *separator = arguments.find(0, "sep");
  const Value *limit = arguments.find(1, "maxsplit");
  int64_t most = limit ? limit->integer() : -1;
  // Each part is a value of its own.
  constexpr uint64_t partBytes = 96;
  List parts;
  std::string_view rest = text;
  if (!separator || separator->isNone()) {
    // Runs of white space separate; at both ends they count for nothing.
    std::vector<std::pair<size_t, size_t>> words;
    size_t offset = 0;
    bool inWord = false;
    interpreter.charge(text.size() * sizeof(std::string_view));
    for (std::string_view character : charactersOf(text)) {
      bool space = allSpace(character);
      if (!space && !inWord) {
        interpreter.charge(partBytes);
        words.emplace_back(offset, offset);
      }
      offset += character.size();
      if (!space)
        words.back().second = offset;
      inWord = !space;
    }
    size_t count = words.size();
    size_t cuts = most < 0 ? count : std::min(count, static_cast<size_t>(most));
    if (fromRight) {
      for (size_t i = count; i-- > count - cuts;)
        parts.emplace_back(text.substr(words[i].first, words[i].second - words[i].first));
      if (cuts < count)
        parts.emplace_back(text.substr(0, words[count - cuts - 1].second));
    } else {
      for (size_t i = 0; i < cuts; ++i)
        parts.emplace_back(text.substr(words[i].first, words[i].second - words[i].first));
      if (cuts < count)
        parts.emplace_back(text.substr(words[cuts].first));
    }
  } else {
    const std::string &by = separator->text();
    if (by.empty())
      throw TemplateError("the separator of split is empty");
    for (; most != 0; --most) {
      size_t at = fromRight ? rest.rfind(by) : rest.find(by);
      if (at == std::string_view::npos)
        break;
      interpreter.charge(partBytes);
      parts.emplace_back(fromRight ? rest.substr(at + by.size()) : rest.substr(0, at));
      rest = fromRight ? rest.substr(0, at) : rest.substr(at + by.size());
    }
    parts.emplace_back(rest);
  }
  if (fromRight)
    std::reverse(parts.begin(), parts.end());
  return parts;
}

/// Line ends are those of str.splitlines: more than a line feed.
Value splitLines(Interpreter &interpreter, const Value &self, const Arguments &arguments) {
  const Value *keep = arguments.find(0, "keepends");
  const std::string &text = self.text();
  List lines;
  size_t begin = 0, at = 0;
  interpreter.charge(text.size() * sizeof(std::string_view));
  for (std::string_view character : charactersOf(text)) {
    size_t end = at;
    at += character.size();
    static constexpr std::string_view ends[] = {"\n",   "\r",   "\x0b",     "\x0c",        "\x1c",
                                                "\x1d", "\x1e", "\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9"};
    if (std::find(std::begin(ends), std::end(ends), character) == std::end(ends))
      continue;
    if (character == "\r" && text.compare(at, 1, "\n") == 0)
      continue; // the line feed ends the line for both
    size_t stop = character == "\n" && end > begin && text[end - 1] == '\r' ? end - 1 : end;
    lines.emplace_back(text.substr(begin, (keep && keep->truthy() ? at : stop) - begin));
    begin = at;
  }
  if (begin < text.size())
    lines.emplace_back(text.substr(begin));
  return lines;
}

/// The part of the string that `start` and `end` behind an argument leave, and
/// how many characters are before it.
std::string_view window(const Value &self, const Arguments &arguments, int64_t &before) {
  const Value *start = arguments.find(1, "start"), *end = arguments.find(2, "end");
  auto size = self.length();
  int64_t first = start && !start->isNone() ? start->integer() : 0;
  before = std::clamp<int64_t>(first < 0 ? first + size : first, 0, size);
  return partOf(self.text(), first, end && !end->isNone() ? end->integer() : size);
}

/// startswith and endswith take one string or a tuple of them.
bool hasAffix(const Value &self, const Arguments &arguments, bool end) {
  const Value &affix = arguments.require(0, "prefix");
  int64_t before;
  std::string_view text = window(self, arguments, before);
  auto matches = [&](const Value &one) {
    return end ? text.ends_with(one.text()) : text.starts_with(one.text());
  };
  if (!affix.isTuple())
    return matches(affix);
  return std::any_of(affix.list().begin(), affix.list().end(), matches);
}

Value stripped(const Value &self, const Arguments &arguments, bool left, bool right) {
  const Value *set = arguments.find(0, "chars");
  return strip(self.text(), left, right, set && !set->isNone() ? &set->text() : nullptr);
}

Value findIn(const Value &self, const Arguments &arguments, bool fromRight, bool required) {
  const std::string &what = arguments.require(0, "sub").text();
  int64_t before;
  std::string_view text = window(self, arguments, before);
  size_t at = fromRight ? text.rfind(what) : text.find(what);
  if (at == std::string::npos && required)
    throw TemplateError("the string does not have what index looks for");
  if (at == std::string::npos)
    return int64_t(-1);
  return before + static_cast<int64_t>(characterCount(text.substr(0, at)));
}

Value countIn(const Value &self, const Arguments &arguments) {
  const std::string &what = arguments.require(0, "sub").text();
  int64_t before;
  std::string_view text = window(self, arguments, before);
  if (what.empty())
    return static_cast<int64_t>(characterCount(text)) + 1;
  int64_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size()))
    ++count;
  return count;
}

Value zeroFilled(Interpreter &interpreter, const Value &self, const Arguments &arguments) {
  int64_t missing = arguments.require(0, "width").integer() - self.length();
  if (missing <= 0)
    return self;
  interpreter.charge(static_cast<uint64_t>(missing));
  const std::string &text = self.text();
  size_t sign = text.starts_with('-') || text.starts_with('+');
  return text.substr(0, sign) + std::string(static_cast<size_t>(missing), '0') + text.substr(sign);
}

/// Upper case to lower case and back.
Value swapped(const Value &self) {
  std::string out;
  for (std::string_view character : charactersOf(self.text())) {
    std::string up = upper(character);
    out += up == character ? lower(character) : up;
  }
  return out;
}

Value justified(Interpreter &interpreter, const Value &self, const Arguments &arguments,
                int side) {
  int64_t width = arguments.require(0, "width").integer(), missing = width - self.length();
  if (missing <= 0)
    return self;
  const Value *fillValue = arguments.find(1, "fillchar");
  std::string fill = fillValue ? fillValue->text() : " ";
  if (characterCount(fill) != 1)
    throw TemplateError("the fill of a text is one character");
  uint64_t bytes;
  if (__builtin_mul_overflow(static_cast<uint64_t>(missing), fill.size(), &bytes))
    throw TemplateError("the text is too wide");
  interpreter.charge(bytes);
  // str.center puts an odd blank where the width is odd to the left.
  int64_t left = side < 0 ? 0 : side > 0 ? missing : missing / 2 + (missing & width & 1);
  std::string out;
  for (int64_t i = 0; i < left; ++i)
    out += fill;
  out += self.text();
  for (int64_t i = left; i < missing; ++i)
    out += fill;
  return out;
}

Value partition(const Value &self, const Arguments &arguments, bool fromRight) {
  const std::string &text = self.text(), &by = arguments.require(0, "sep").text();
  size_t at = fromRight ? text.rfind(by) : text.find(by);
  if (at == std::string::npos)
    return Value::ofKind(ListKind::Tuple, fromRight ? List{"", "", self} : List{self, "", ""});
  return Value::ofKind(ListKind::Tuple,
                       List{text.substr(0, at), by, text.substr(at + by.size())});
}

#define LLMC_METHOD(...)                                                                           \
  [](Interpreter & interpreter, const Value &self, const Arguments &arguments) -> Value {          \
    (void)interpreter, (void)arguments;                                                            \
    __VA_ARGS__                                                                                    \
  }

const std::unordered_map<std::string_view, Method> &stringMethods() {
  static const std::unordered_map<std::string_view, Method> table = {
      {"strip", LLMC_METHOD(return stripped(self, arguments, true, true);)},
      {"lstrip", LLMC_METHOD(return stripped(self, arguments, true, false);)},
      {"rstrip", LLMC_METHOD(return stripped(self, arguments, false, true);)},
      {"split", LLMC_METHOD(return split(interpreter, self.text(), arguments, false);)},
      {"rsplit", LLMC_METHOD(return split(interpreter, self.text(), arguments, true);)},
      {"splitlines", splitLines},
      {"startswith", LLMC_METHOD(return hasAffix(self, arguments, false);)},
      {"endswith", LLMC_METHOD(return hasAffix(self, arguments, true);)},
      {"replace", LLMC_METHOD({
         const Value *count = arguments.find(2, "count");
         return replaceAll(interpreter, self.text(), arguments.require(0, "old").text(),
                           arguments.require(1, "new").text(), count ? count->integer() : -1);
       })},
      {"upper", LLMC_METHOD(return upper(self.text());)},
      {"lower", LLMC_METHOD(return lower(self.text());)},
      {"title", LLMC_METHOD(return title(self.text());)},
      {"capitalize", LLMC_METHOD(return capitalize(self.text());)},
      {"join", LLMC_METHOD({
         std::string out;
         auto items = interpreter.iterate(arguments.require(0, "iterable"));
         for (size_t i = 0; i < items->size(); ++i) {
           interpreter.charge(self.text().size() + (*items)[i].text().size());
           out += (i ? self.text() : "") + (*items)[i].text();
         }
         return out;
       })},
      {"find", LLMC_METHOD(return findIn(self, arguments, false, false);)},
      {"rfind", LLMC_METHOD(return findIn(self, arguments, true, false);)},
      {"index", LLMC_METHOD(return findIn(self, arguments, false, true);)},
      {"rindex", LLMC_METHOD(return findIn(self, arguments, true, true);)},
      {"count", LLMC_METHOD(return countIn(self, arguments);)},
      {"isdigit", LLMC_METHOD(return allDigits(self.text());)},
      {"isnumeric", LLMC_METHOD(return allNumeric(self.text());)},
      {"isdecimal", LLMC_METHOD(return allDecimal(self.text());)},
      {"isascii", LLMC_METHOD({
         const std::string &text = self.text();
         return std::all_of(text.begin(), text.end(), [](char c) { return !(c & 0x80); });
       })},
      {"isalpha", LLMC_METHOD(return allLetters(self.text());)},
      {"isalnum", LLMC_METHOD(return allLettersOrDigits(self.text());)},
      {"isspace", LLMC_METHOD(return allSpace(self.text());)},
      {"isupper", LLMC_METHOD({
         const std::string &text = self.text();
         return upper(text) == text && lower(text) != text;
       })},
      {"islower", LLMC_METHOD({
         const std::string &text = self.text();
         return lower(text) == text && upper(text) != text;
       })},
      {"casefold", LLMC_METHOD(return casefold(self.text());)},
      {"swapcase", LLMC_METHOD(return swapped(self);)},
      {"zfill", zeroFilled},
      {"format", LLMC_METHOD(return formatBraces(interpreter, self.text(), arguments);)},
      {"removeprefix", LLMC_METHOD({
         const std::string &prefix = arguments.require(0, "prefix").text();
         return self.text().starts_with(prefix) ? Value(self.text().substr(prefix.size())) : self;
       })},
      {"removesuffix", LLMC_METHOD({
         const std::string &suffix = arguments.require(0, "suffix").text();
         bool has = self.text().ends_with(suffix);
         return has ? Value(self.text().substr(0, self.text().size() - suffix.size())) : self;
       })},
      {"ljust", LLMC_METHOD(return justified(interpreter, self, arguments, -1);)},
      {"rjust", LLMC_METHOD(return justified(interpreter, self, arguments, 1);)},
      {"center", LLMC_METHOD(return justified(interpreter, self, arguments, 0);)},
      {"partition", LLMC_METHOD(return partition(self, arguments, false);)},
      {"rpartition", LLMC_METHOD(return partition(self, arguments, true);)},
  };
  return table;
}

Value pairsOf(Interpreter &interpreter, const Value &self, bool keys, bool values) {
  List out;
  for (const auto &[key, value] : self.dict()) {
    interpreter.charge(3 * sizeof(Value));
    if (keys && values)
      out.push_back(Value::ofKind(ListKind::Tuple, {key, value}));
    else
      out.push_back(keys ? key : value);
  }
  ListKind kind = keys && values ? ListKind::Items : keys ? ListKind::Keys : ListKind::Values;
  return Value::ofKind(kind, std::move(out));
}

Value refuseChange(Interpreter &, const Value &, const Arguments &) {
  throw TemplateError("values cannot be changed here; make a new one, or use a namespace");
}

const std::unordered_map<std::string_view, Method> &dictMethods() {
  static const std::unordered_map<std::string_view, Method> table = {
      {"items", LLMC_METHOD(return pairsOf(interpreter, self, true, true);)},
      {"keys", LLMC_METHOD(return pairsOf(interpreter, self, true, false);)},
      {"values", LLMC_METHOD(return pairsOf(interpreter, self, false, true);)},
      {"copy", LLMC_METHOD(return self;)},
      {"get", LLMC_METHOD({
         if (const Value *found = self.find(arguments.require(0, "key")))
           return *found;
         const Value *fallback = arguments.find(1, "default");
         return fallback ? *fallback : Value();
       })},
      {"pop", refuseChange},        {"update", refuseChange}, {"clear", refuseChange},
      {"setdefault", refuseChange}, {"popitem", refuseChange},
  };
  return table;
}

const std::unordered_map<std::string_view, Method> &listMethods() {
  static const std::unordered_map<std::string_view, Method> table = {
      {"index", LLMC_METHOD({
         const List &list = self.list();
         auto at = std::find(list.begin(), list.end(), arguments.require(0, "value"));
         if (at == list.end())
           throw TemplateError("the list does not have what index looks for");
         return static_cast<int64_t>(at - list.begin());
       })},
      {"count", LLMC_METHOD({
         const List &list = self.list();
         return static_cast<int64_t>(
             std::count(list.begin(), list.end(), arguments.require(0, "value")));
       })},
      {"copy", LLMC_METHOD(return self;)},
      {"append", refuseChange}, {"extend", refuseChange},  {"insert", refuseChange},
      {"pop", refuseChange},    {"remove", refuseChange},  {"clear", refuseChange},
      {"sort", refuseChange},   {"reverse", refuseChange},
  };
  return table;
}

const std::unordered_map<std::string_view, Method> &loopMethods() {
  static const std::unordered_map<std::string_view, Method> table = {
      {"cycle", LLMC_METHOD({
         if (arguments.positional.empty())
           throw TemplateError("cycle needs values");
         return arguments.positional[self.loop()->index % arguments.positional.size()];
       })},
      {"changed", LLMC_METHOD({
         LoopState &loop = *self.loop();
         for (const Value &value : arguments.positional)
           if (value.loop() || value.space() || value.callable() || value.depth() > 1)
             throw TemplateError("changed works on plain values");
         bool changed = !loop.changedOnce || !(loop.lastChanged == arguments.positional);
         loop.changedOnce = true;
         loop.lastChanged = arguments.positional;
         return changed;
       })},
  };
  return table;
}

Method findMethod(const Value &object, const std::string &name) {
  const auto *table = object.isString()    ? &stringMethods()
                      : object.isDict()    ? &dictMethods()
                      : object.isIndexed() ? &listMethods()
                      : object.loop()      ? &loopMethods()
                                           : nullptr;
  // Tuples and ranges have the two that only look.
  if (!table || (object.isList() && !object.isList(ListKind::List) && name != "index" &&
                 name != "count"))
    return nullptr;
  auto found = table->find(name);
  return found == table->end() ? nullptr : found->second;
}

} // namespace

bool hasMethod(const Value &object, const std::string &name) { return findMethod(object, name); }

Value callMethod(Interpreter &interpreter, const Value &object, const std::string &name,
                 const Arguments &arguments) {
  return findMethod(object, name)(interpreter, object, arguments);
}

} // namespace llmc::rt::chat
