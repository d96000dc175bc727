//===- JsonReader.cpp - checked access to a manifest's JSON ---------------===//

#include "JsonReader.h"
#include "llmc/Dialect/Plan/IR/PlanSize.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace llmc::plan;
using JsonValue = llvm::json::Value;

Location JsonReader::getLoc(StringRef path) const {
  return NameLoc::get(StringAttr::get(context, path.empty() ? "manifest" : path));
}

InFlightDiagnostic JsonReader::emit(StringRef path) {
  InFlightDiagnostic diagnostic = emitError(getLoc(path));
  if (hasFailed)
    diagnostic.abandon();
  hasFailed = true;
  return diagnostic;
}

/// What stands for an object that is missing.
static const llvm::json::Object &getEmptyObject() {
  static const llvm::json::Object empty;
  return empty;
}

JsonObject::JsonObject(JsonReader &reader, const JsonValue &value, std::string path)
    : reader(reader), fields(value.getAsObject()), path(std::move(path)) {
  if (fields)
    return;
  reader.fail(this->path, "is not an object");
  fields = &getEmptyObject();
}

std::string JsonObject::getPath(StringRef key) const {
  return path.empty() ? key.str() : path + "." + key.str();
}

bool JsonObject::has(StringRef key) {
  asked.insert(key);
  return fields->get(key) != nullptr;
}

const JsonValue *JsonObject::get(StringRef key) {
  asked.insert(key);
  const JsonValue *value = fields->get(key);
  if (!value)
    reader.fail(getPath(key), "is missing");
  return value;
}

int64_t JsonObject::asInteger(JsonReader &reader, const JsonValue &value, StringRef path,
                              int64_t least) {
  std::optional<int64_t> number = value.getAsInteger();
  if (!number) {
    reader.fail(path, "is not an integer");
    return least;
  }
  if (*number >= least && *number <= kMostBytes)
    return *number;
  reader.fail(path, "is " + Twine(*number) + ", the range is " + Twine(least) + " to " +
                        Twine(kMostBytes));
  return least;
}

int64_t JsonObject::integer(StringRef key, int64_t least, std::optional<int64_t> otherwise) {
  if (otherwise && !has(key))
    return *otherwise;
  const JsonValue *value = get(key);
  return value ? asInteger(reader, *value, getPath(key), least) : least;
}

std::optional<int64_t> JsonObject::optionalInteger(StringRef key, int64_t least) {
  if (!has(key))
    return std::nullopt;
  return integer(key, least);
}

bool JsonObject::boolean(StringRef key, bool otherwise) {
  if (!has(key))
    return otherwise;
  std::optional<bool> value = get(key)->getAsBoolean();
  if (!value)
    reader.fail(getPath(key), "is neither true nor false");
  return value.value_or(otherwise);
}

StringRef JsonObject::string(StringRef key, std::optional<StringRef> otherwise) {
  if (otherwise && !has(key))
    return *otherwise;
  const JsonValue *value = get(key);
  if (!value)
    return "";
  std::optional<StringRef> text = value->getAsString();
  if (!text)
    reader.fail(getPath(key), "is not a string");
  return text.value_or("");
}

JsonObject JsonObject::object(StringRef key) {
  static const JsonValue empty = llvm::json::Object();
  const JsonValue *value = get(key);
  return JsonObject(reader, value ? *value : empty, getPath(key));
}

void JsonObject::list(StringRef key,
                      llvm::function_ref<void(const JsonValue &, std::string)> visit) {
  if (!has(key))
    return;
  const llvm::json::Array *values = get(key)->getAsArray();
  if (!values)
    return reader.fail(getPath(key), "is not a list");
  for (size_t i = 0; i < values->size() && !reader.failed(); ++i)
    visit((*values)[i], getPath(key) + "[" + std::to_string(i) + "]");
}

void JsonObject::objects(StringRef key, llvm::function_ref<void(JsonObject &)> visit) {
  list(key, [&](const JsonValue &value, std::string where) {
    JsonObject item(reader, value, std::move(where));
    if (reader.failed())
      return;
    visit(item);
    item.finish();
  });
}

SmallVector<int64_t> JsonObject::integers(StringRef key, int64_t least) {
  SmallVector<int64_t> numbers;
  list(key, [&](const JsonValue &value, std::string where) {
    numbers.push_back(asInteger(reader, value, where, least));
  });
  return numbers;
}

SmallVector<double> JsonObject::numbers(StringRef key) {
  SmallVector<double> numbers;
  list(key, [&](const JsonValue &value, std::string where) {
    std::optional<double> number = value.getAsNumber();
    if (!number)
      reader.fail(where, "is not a number");
    numbers.push_back(number.value_or(0));
  });
  return numbers;
}

SmallVector<StringRef> JsonObject::strings(StringRef key) {
  SmallVector<StringRef> texts;
  list(key, [&](const JsonValue &value, std::string where) {
    std::optional<StringRef> text = value.getAsString();
    if (!text)
      reader.fail(where, "is not a string");
    texts.push_back(text.value_or(""));
  });
  return texts;
}

void JsonObject::finish() {
  // The first in the alphabet: the object itself has no order.
  std::optional<StringRef> unknown;
  for (const auto &[key, value] : *fields)
    if (!asked.contains(key) && (!unknown || StringRef(key) < *unknown))
      unknown = key;
  if (unknown)
    reader.fail(getPath(*unknown), "is no field of the manifest");
}
