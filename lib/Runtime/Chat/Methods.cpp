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

Value split(const std::string &text, const Arguments &arguments, bool fromRight) {
  const Value *separator = arguments.find(0, "sep");
  const Value *limit = arguments.find(1, "maxsplit");
  int64_t most = limit ? limit->integer() : -1;
  List parts;
  std::string_view rest = text;
  if (!separator || separator->isNone()) {
    // Runs of white space separate; at both ends they count for nothing.
    std::vector<std::pair<size_t, size_t>> words;
    size_t offset = 0;
    bool inWord = false;
    for (std::string_view character : charactersOf(text)) {
      bool space = allSpace(character);
      if (!space && !inWord)
        words.emplace_back(offset, offset);
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
      parts.emplace_back(fromRight ? rest.substr(at + by.size()) : rest.substr(0, at));
      rest = fromRight ? rest.substr(0, at) : rest.substr(at + by.size());
    }
    parts.emplace_back(rest);
  }
  if (fromRight)
    std::reverse(parts.begin(), parts.end());
  return parts;
}

Value splitLines(Interpreter &, const Value &self, const Arguments &arguments) {
  const Value *keep = arguments.find(0, "keepends");
  const std::string &text = self.text();
  List lines;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find_first_of("\r\n", at), text.size());
    size_t next = end;
    if (next < text.size())
      next += text.compare(next, 2, "\r\n") == 0 ? 2 : 1;
    lines.emplace_back(text.substr(at, (keep && keep->truthy() ? next : end) - at));
    at = next;
  }
  return lines;
}

/// startswith and endswith take one string or several.
bool hasAffix(const Value &self, const Arguments &arguments, bool end) {
  const Value &affix = arguments.require(0, "prefix");
  auto matches = [&](const Value &one) {
    return end ? self.text().ends_with(one.text()) : self.text().starts_with(one.text());
  };
  if (!affix.isList())
    return matches(affix);
  return std::any_of(affix.list().begin(), affix.list().end(), matches);
}

Value stripped(const Value &self, const Arguments &arguments, bool left, bool right) {
  const Value *set = arguments.find(0, "chars");
  return strip(self.text(), left, right, set && !set->isNone() ? &set->text() : nullptr);
}

Value findIn(const Value &self, const Arguments &arguments, bool fromRight) {
  const std::string &text = self.text(), &what = arguments.require(0, "sub").text();
  size_t at = fromRight ? text.rfind(what) : text.find(what);
  if (at == std::string::npos)
    return int64_t(-1);
  return static_cast<int64_t>(characterCount(std::string_view(text).substr(0, at)));
}

int64_t countIn(const std::string &text, const std::string &what) {
  if (what.empty())
    return static_cast<int64_t>(characterCount(text)) + 1;
  int64_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size()))
    ++count;
  return count;
}

/// {} and {0} and {name} of str.format, without format specifications.
Value formatBraces(Interpreter &interpreter, const Value &self, const Arguments &arguments) {
  const std::string &format = self.text();
  std::string out;
  size_t next = 0;
  for (size_t i = 0; i < format.size(); ++i) {
    char c = format[i];
    if ((c == '{' || c == '}') && i + 1 < format.size() && format[i + 1] == c) {
      out += c;
      ++i;
    } else if (c == '{') {
      size_t end = format.find('}', i);
      if (end == std::string::npos)
        throw TemplateError("the format has a { without a }");
      std::string field = format.substr(i + 1, end - i - 1);
      bool digits = !field.empty() && field.size() < 4 && allDigits(field);
      const Value &value = field.empty() ? arguments.require(next++, "")
                           : digits      ? arguments.require(std::stoul(field), "")
                                         : arguments.require(arguments.positional.size(), field);
      std::string text = value.str();
      interpreter.charge(text.size());
      out += text;
      i = end;
    } else {
      out += c;
    }
  }
  return out;
}

Value justified(Interpreter &interpreter, const Value &self, const Arguments &arguments,
                int side) {
  int64_t missing = arguments.require(0, "width").integer() - self.length();
  if (missing <= 0)
    return self;
  const Value *fillValue = arguments.find(1, "fillchar");
  std::string fill = fillValue ? fillValue->text() : " ";
  interpreter.charge(static_cast<uint64_t>(missing) * fill.size());
  int64_t left = side < 0 ? 0 : side > 0 ? missing : missing / 2;
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
    return fromRight ? List{"", "", self} : List{self, "", ""};
  return List{text.substr(0, at), by, text.substr(at + by.size())};
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
      {"split", LLMC_METHOD(return split(self.text(), arguments, false);)},
      {"rsplit", LLMC_METHOD(return split(self.text(), arguments, true);)},
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
         auto items = arguments.require(0, "iterable").iterate();
         for (size_t i = 0; i < items->size(); ++i) {
           interpreter.charge(self.text().size() + (*items)[i].text().size());
           out += (i ? self.text() : "") + (*items)[i].text();
         }
         return out;
       })},
      {"find", LLMC_METHOD(return findIn(self, arguments, false);)},
      {"rfind", LLMC_METHOD(return findIn(self, arguments, true);)},
      {"index", LLMC_METHOD({
         Value at = findIn(self, arguments, false);
         if (at.integer() < 0)
           throw TemplateError("the string does not have what index looks for");
         return at;
       })},
      {"count", LLMC_METHOD(return countIn(self.text(), arguments.require(0, "sub").text());)},
      {"isdigit", LLMC_METHOD(return allDigits(self.text());)},
      {"isnumeric", LLMC_METHOD(return allDigits(self.text());)},
      {"isdecimal", LLMC_METHOD(return allDigits(self.text());)},
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
      {"format", formatBraces},
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
      out.push_back(List{key, value});
    else
      out.push_back(keys ? key : value);
  }
  return out;
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
  const auto *table = object.isString() ? &stringMethods()
                      : object.isDict() ? &dictMethods()
                      : object.isList() ? &listMethods()
                      : object.loop()   ? &loopMethods()
                                        : nullptr;
  if (!table)
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
