//===- GgufConfig.cpp - GGUF metadata as a config -------------------------===//
#include "llmc/Frontend/GgufConfig.h"

#include "llmc/Support/Error.h"

#include <algorithm>

namespace llmc::frontend {

namespace {
/// has_tensor('name') and the metadata mapped so far.
class FileContext : public EvalContext {
public:
  FileContext(const GgufFile &gguf, const Json &config) : gguf(gguf), config(config) {}

  Value lookup(const Expr &expr) override {
    const Json *value = config.find(expr.name);
    if (!value)
      return Value::Absent{expr.name};
    if (value->isInt())
      return value->integer;
    if (value->isNumber())
      return value->number;
    if (value->isBool())
      return value->boolean;
    if (value->isString())
      return value->text;
    expressionError(expr, "'" + expr.name + "' is " + value->kindName());
  }

  Value call(const Expr &expr, ValueList args,
             std::vector<std::pair<std::string, Value>>) override {
    const std::string *name = args.size() == 1 ? args[0].get<std::string>() : nullptr;
    if (expr.name != "has_tensor" || !name)
      expressionError(expr, "the only function here is has_tensor('name')");
    return gguf.checkpoint->find(*name) != nullptr;
  }

private:
  const GgufFile &gguf;
  const Json &config;
};
} // namespace

static Json jsonOf(const Expr &expr, const Value &value) {
  if (const bool *flag = value.get<bool>())
    return Json::makeBool(*flag);
  if (const int64_t *integer = value.get<int64_t>())
    return Json::makeInt(*integer);
  if (const double *number = value.get<double>())
    return Json::makeDouble(*number);
  if (const std::string *text = value.get<std::string>())
    return Json::makeString(*text);
  if (value.isNull())
    return Json();
  expressionError(expr, std::string("a config value cannot be ") + value.kindName());
}

/// Sets "a.b" in an object of objects; two metadata keys for one config key must agree.
static void setNested(Json &config, const std::string &key, Json value, const GgufFile &gguf,
                      const std::string &metadataKey) {
  Json *place = &config;
  std::string rest = key;
  for (size_t dot; (dot = rest.find('.')) != std::string::npos; rest = rest.substr(dot + 1)) {
    std::string part = rest.substr(0, dot);
    if (!place->find(part))
      place->set(part, Json::makeObject());
    place = place->find(part);
  }
  if (const Json *present = place->find(rest); present && !(*present == value))
    throw InputError(gguf.checkpoint->files().front() + ": metadata '" + metadataKey +
                     "' = " + value.dump(80) + " contradicts the " + present->dump(80) +
                     " that another value gives for " + key);
  place->set(rest, std::move(value));
}

Json ggufConfig(const GgufFile &gguf, const GgufDef &def,
                std::map<std::string, std::string> *origins) {
  Json config = Json::makeObject();
  std::vector<std::string> mapped;
  for (const GgufDef::KeyMap &map : def.keys) {
    std::string key = map.metadataKey;
    if (size_t at = key.find("{arch}"); at != std::string::npos)
      key.replace(at, 6, gguf.architecture);
    const Json *value = gguf.metadata.find(key);
    if (!value)
      continue;
    mapped.push_back(key);
    if (origins)
      origins->emplace(map.configKey, key);
    Json converted = *value;
    for (const auto &[from, to] : map.values)
      if (value->isString() && value->text == from)
        converted = to;
    setNested(config, map.configKey, std::move(converted), gguf, key);
  }
  FileContext context(gguf, config);
  for (const auto &[key, expr] : def.config)
    config.set(key, jsonOf(*expr, evaluate(*expr, context)));
  // What nobody maps keeps its own name and meets the ledger: irrelevant or unknown.
  for (const auto &[key, value] : gguf.metadata.members)
    if (std::find(mapped.begin(), mapped.end(), key) == mapped.end())
      config.set(key, value);
  return config;
}

} // namespace llmc::frontend
