//===- DescriptionParser.cpp - merged JSON to a Description ---------------===//
#include "Hints.h"
#include "Merge.h"
#include "llmc/Frontend/Description.h"
#include "llmc/Support/Error.h"

#include <algorithm>
#include <charconv>

namespace llmc::frontend {

namespace {

class SectionParser {
public:
  SectionParser(const Json &json, const std::vector<std::string> &files)
      : root(json), files(files) {}

  Description parse(const std::string &name) {
    description.name = name;
    description.file = files.empty() ? name : files.back();
    static const std::vector<std::string> known = {
        "about",  "match",  "extends", "synonyms", "params", "checks", "ledger",      "tensors",
        "layers", "blocks", "model",   "facts",    "gguf",   "config", "rope_pairing", "prefixes",
        "forms",  "mtp",    "defaults", "renamed", "inferred"};
    onlyKeys(root, known);
    parseMatch();
    if (const Json *inferred = root.find("inferred"); inferred && !inferred->isNull()) {
      if (!inferred->isBool())
        fail(*inferred, "'inferred' must be true or false");
      if (inferred->boolean)
        description.inferredAt = locate(*inferred).position();
    }
    for (const auto &[other, key] : object("synonyms").members) {
      // Two that stand for each other would never be compared.
      if (object("synonyms").find(text(key)))
        fail(key, "'" + other + "' stands for '" + key.text + "', which stands for another key itself");
      description.synonyms.emplace_back(other, key.text);
    }
    for (const auto &[head, value] : object("params").members)
      description.params.push_back(param(head, value));
    parseDefaults();
    for (const Json &check : list("checks").items) {
      if (!check.isArray() || check.items.size() != 2)
        fail(check, "a check is a list of a condition and a message");
      description.checks.push_back({expression(check.items[0]), text(check.items[1])});
    }
    parseLedger();
    description.tensors = tensors(object("tensors"));
    parsePrefixes();
    parseForms();
    parseMtp();
    parseLayers();
    for (const auto &[head, value] : object("blocks").members)
      description.blocks.push_back(block(head, value));
    for (const Json &line : list("model").items)
      description.model.push_back(statement(line));
    checkUses(description.model);
    for (const auto &[fact, value] : object("facts").members)
      description.facts[fact] = expression(value);
    description.ropeInterleaved = pairing(root);
    if (const Json *gguf = root.find("gguf"); gguf && !gguf->isNull())
      parseGguf(*gguf);
    if (const Json *config = root.find("config"))
      description.config = *config;
    return std::move(description);
  }

private:
  SourceLocation locate(const Json &json, std::string text = {}) const {
    const std::string &file = json.fileIndex < files.size() ? files[json.fileIndex] : files.back();
    return {file, json.line, json.column, std::move(text)};
  }
  [[noreturn]] void fail(const Json &json, const std::string &message) const {
    throw InputError(locate(json).position() + ": " + message + ", here is " + json.dump(80));
  }

  void onlyKeys(const Json &json, const std::vector<std::string> &known) const {
    for (const auto &[key, value] : json.members)
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        std::vector<std::string> near = nearWords(key, known, 1);
        fail(value, "'" + key + "' is no key of this part of a description" +
                        (near.empty() ? "" : "; did you mean '" + near[0] + "'?"));
      }
  }

  const Json &section(const Json &parent, const char *name, Json::Kind kind) const {
    static const Json emptyObject = Json::makeObject(), emptyList = Json::makeArray();
    const Json *json = parent.find(name);
    if (!json || json->isNull())
      return kind == Json::Kind::Object ? emptyObject : emptyList;
    if (json->kind != kind)
      fail(*json, std::string("'") + name + "' must be " +
                      (kind == Json::Kind::Object ? "an object" : "a list"));
    return *json;
  }
  const Json &object(const char *name) const { return section(root, name, Json::Kind::Object); }
  const Json &list(const char *name) const { return section(root, name, Json::Kind::Array); }

  std::string text(const Json &json) const {
    if (!json.isString())
      fail(json, "expected text");
    return json.text;
  }
  std::vector<std::string> texts(const Json &parent, const char *name) const {
    std::vector<std::string> out;
    for (const Json &item : section(parent, name, Json::Kind::Array).items)
      out.push_back(text(item));
    return out;
  }
  ExprPtr expression(const Json &json) const {
    // Plain JSON numbers and booleans are expressions of themselves.
    std::string source = json.isString() ? json.text : json.dump();
    if (json.isObject())
      fail(json, "expected an expression");
    return parseExpression(source, locate(json));
  }
  Statement statement(const Json &json) const { return parseStatement(text(json), locate(json)); }

  /// Every assigned name is read before it is assigned anew, or is the result. An `observe` of a
  /// value is there for what it shows.
  static void checkUses(const std::vector<Statement> &statements) {
    for (size_t at = 0; at + 1 < statements.size(); ++at) {
      const Statement &statement = statements[at];
      const Expr &value = *statement.value;
      if (value.kind == Expr::Kind::Call && value.name == "observe" && !value.children.empty() &&
          value.children[0]->kind == Expr::Kind::Name)
        continue;
      if (statement.targets.empty())
        throw InputError(statement.location.position() +
                         ": the value of this statement is never used, in '" +
                         statement.location.text + "'");
      for (const std::string &target : statement.targets)
        if (!isUsed(target, statements, at + 1))
          throw InputError(statement.location.position() + ": value '" + target +
                           "' is never used, in '" + statement.location.text + "'");
    }
  }
  static bool isUsed(const std::string &name, const std::vector<Statement> &statements,
                     size_t from) {
    for (; from < statements.size(); ++from) {
      std::vector<std::string> names;
      collectNames(*statements[from].value, names);
      if (std::find(names.begin(), names.end(), name) != names.end())
        return true;
      const std::vector<std::string> &targets = statements[from].targets;
      if (std::find(targets.begin(), targets.end(), name) != targets.end())
        return false;
    }
    return false;
  }

  bool pairing(const Json &parent) const {
    const Json *json = parent.find("rope_pairing");
    if (!json)
      return false;
    if (!json->isString() || (json->text != "interleaved" && json->text != "halves"))
      fail(*json, "rope_pairing must be 'halves' or 'interleaved'");
    return json->text == "interleaved";
  }

  void parseMatch() {
    const Json &match = object("match");
    onlyKeys(match, {"model_type", "architectures"});
    description.modelTypes = texts(match, "model_type");
    description.architectures = texts(match, "architectures");
  }

  /// "window(i)" -> name and formals.
  std::pair<std::string, std::vector<std::string>> head(const std::string &text,
                                                        const Json &json) const {
    size_t open = text.find('(');
    std::string name = text.substr(0, open);
    std::vector<std::string> formals;
    auto isName = [](const std::string &word) {
      return !word.empty() && !(word[0] >= '0' && word[0] <= '9') &&
             std::all_of(word.begin(), word.end(),
                         [](unsigned char c) { return std::isalnum(c) || c == '_'; });
    };
    if (open != std::string::npos) {
      if (text.back() != ')')
        fail(json, "'" + text + "' must end with ')'");
      std::string inside = text.substr(open + 1, text.size() - open - 2), word;
      for (char c : inside + ",") {
        if (c == ' ')
          continue;
        if (c != ',') {
          word += c;
          continue;
        }
        if (!isName(word))
          fail(json, "'" + text + "' has an argument that is no name");
        formals.push_back(word);
        word.clear();
      }
    }
    if (!isName(name))
      fail(json, "'" + name + "' is no name");
    if (isBuiltinFunction(name))
      fail(json, "'" + name + "' is a function of the language");
    return {name, formals};
  }

  ParamDef param(const std::string &headText, const Json &json) {
    ParamDef def;
    std::tie(def.name, def.formals) = head(headText, json);
    def.isFunction = headText.find('(') != std::string::npos;
    def.location = locate(json);
    def.fileIndex = json.fileIndex;
    const Json *value = &json;
    if (json.isArray()) {
      if (json.items.size() != 2)
        fail(json, "a parameter is an expression, or a list of an expression and a type");
      value = &json.items[0];
      parseType(def, json.items[1]);
    }
    def.value = expression(*value);
    return def;
  }

  /// "int(1, 65536)?": kind, bounds, and ? for null allowed.
  void parseType(ParamDef &def, const Json &json) {
    std::string spec = text(json);
    if (spec.ends_with('?')) {
      def.nullable = true;
      spec.pop_back();
    }
    size_t open = spec.find('(');
    std::string kind = spec.substr(0, open);
    static const std::map<std::string, ParamDef::Type> kinds = {{"int", ParamDef::Type::Int},
                                                                {"float", ParamDef::Type::Float},
                                                                {"bool", ParamDef::Type::Bool},
                                                                {"text", ParamDef::Type::Text},
                                                                {"list", ParamDef::Type::List}};
    auto it = kinds.find(kind);
    if (it == kinds.end())
      fail(json, "a type is int, float, bool, text or list");
    def.type = it->second;
    if (open == std::string::npos)
      return;
    double low = 0, high = 0;
    const char *at = spec.data() + open + 1, *end = spec.data() + spec.size();
    auto first = std::from_chars(at, end, low);
    at = first.ptr;
    while (at < end && (*at == ',' || *at == ' '))
      ++at;
    auto second = std::from_chars(at, end, high);
    if (first.ec != std::errc() || second.ec != std::errc() || second.ptr != end - 1 ||
        *second.ptr != ')')
      fail(json, "bounds of a type are written int(low, high)");
    def.low = low;
    def.high = high;
  }

  void parseLedger() {
    const Json &ledger = object("ledger");
    onlyKeys(ledger, {"irrelevant", "require", "ignored_tensors"});
    description.irrelevantKeys = texts(ledger, "irrelevant");
    description.ignoredTensors = texts(ledger, "ignored_tensors");
    for (const auto &[key, value] : section(ledger, "require", Json::Kind::Object).members) {
      RequireDef def;
      def.key = key;
      def.location = locate(value);
      def.allowed = value.isArray() ? value.items : std::vector<Json>{value};
      description.requires_.push_back(std::move(def));
    }
  }

  ExprPtr optionalExpression(const Json &parent, const char *name) const {
    const Json *json = parent.find(name);
    return json && !json->isNull() ? expression(*json) : nullptr;
  }
  bool flag(const Json &parent, const char *name) const {
    const Json *json = parent.find(name);
    if (json && !json->isBool())
      fail(*json, std::string("'") + name + "' is true or false");
    return json && json->boolean;
  }

  /// "rows", or { "rows": "...", "transposed": true }.
  TensorPart part(const std::string &role, const Json &json) const {
    TensorPart part;
    part.role = head(role, json).first;
    if (!json.isObject()) {
      part.rows = expression(json);
      return part;
    }
    onlyKeys(json, {"rows", "transposed"});
    const Json *rows = json.find("rows");
    if (!rows)
      fail(json, "a part needs its 'rows'");
    part.rows = expression(*rows);
    part.transposed = flag(json, "transposed");
    return part;
  }

  TensorDef tensor(const std::string &role, const Json &json, bool perLayer) const {
    TensorDef def;
    def.role = head(role, json).first;
    def.perLayer = perLayer;
    def.location = locate(json);
    if (!json.isArray() || json.items.size() < 2 || json.items.size() > 3)
      fail(json, "a tensor is a list of name, shape and, optionally, an object of attributes");
    def.nameTemplate = text(json.items[0]);
    if (perLayer != (def.nameTemplate.find("{i}") != std::string::npos))
      fail(json, perLayer ? "the name of a layer's tensor needs {i}"
                          : "{i} stands only in tensors of 'layer'");
    def.shape = expression(json.items[1]);
    def.biasTemplate = biasName(def.nameTemplate);
    if (json.items.size() == 3)
      attributes(def, json.items[2]);
    if (def.nameTemplate.find("{e}") != std::string::npos && !def.experts)
      fail(json, "a name with {e} needs the attribute 'experts', how many there are");
    return def;
  }

  void attributes(TensorDef &def, const Json &json) const {
    if (!json.isObject())
      fail(json, "the attributes of a tensor are an object");
    onlyKeys(json, {"when", "bias", "bias_name", "tied", "optional", "transposed", "parts",
                    "interleave", "groups", "experts", "stored", "integer", "values",
                    "unit_rows"});
    def.when = optionalExpression(json, "when");
    def.bias = optionalExpression(json, "bias");
    def.tied = optionalExpression(json, "tied");
    def.experts = optionalExpression(json, "experts");
    def.groups = optionalExpression(json, "groups");
    def.stored = optionalExpression(json, "stored");
    def.values = optionalExpression(json, "values");
    def.unitRows = optionalExpression(json, "unit_rows");
    def.optional = flag(json, "optional");
    def.transposed = flag(json, "transposed");
    def.interleave = flag(json, "interleave");
    def.integer = flag(json, "integer");
    if (const Json *name = json.find("bias_name")) {
      def.biasTemplate = text(*name);
      for (const char *place : {"{i}", "{e}"})
        if ((def.biasTemplate.find(place) == std::string::npos) !=
            (def.nameTemplate.find(place) == std::string::npos))
          fail(*name, std::string("the names of a weight and of its bias hold ") + place +
                          " both or neither");
    }
    for (const auto &[role, rows] : section(json, "parts", Json::Kind::Object).members)
      def.parts.push_back(part(role, rows));
    if (def.parts.empty() && (def.interleave || def.groups))
      fail(json, "'interleave' and 'groups' say how 'parts' lie, and there are none");
    if (def.interleave && def.groups)
      fail(json, "the rows of 'groups' do not alternate: leave out 'interleave' or 'groups'");
    for (const TensorPart &part : def.parts)
      if (part.transposed && !def.groups)
        fail(json, "only the parts of 'groups' are transposed, which '" + part.role + "' is none of");
    if (def.tied && (!def.parts.empty() || def.experts))
      fail(json, "a tied tensor has neither parts nor experts");
    if (def.stored && (!def.parts.empty() || def.experts || def.transposed))
      fail(json, "'stored' stands for a plain tensor, without parts, experts and 'transposed'");
    if (def.unitRows && (!def.parts.empty() || def.experts || def.transposed || def.stored ||
                         def.integer || def.tied))
      fail(json, "'unit_rows' stands for a plain tensor, without parts, experts, 'transposed', "
                 "'stored', 'integer' and 'tied'");
    checkConstants(def, json);
  }

  /// Constants are computed, so nothing says how they are stored.
  void checkConstants(const TensorDef &def, const Json &json) const {
    if (!def.values)
      return;
    if (json.members.size() > (def.when ? 2 : 1))
      fail(json, "'values' are constants of the description; beside it stands only 'when'");
  }

  void addTensor(std::vector<TensorDef> &list, TensorDef def) const {
    std::vector<TensorDef> parts;
    for (const TensorPart &from : def.parts) {
      TensorDef part;
      part.role = from.role;
      part.whole = def.role;
      part.nameTemplate = def.nameTemplate;
      part.perLayer = def.perLayer;
      part.location = def.location;
      parts.push_back(std::move(part));
    }
    list.push_back(std::move(def));
    std::move(parts.begin(), parts.end(), std::back_inserter(list));
  }

  std::vector<TensorDef> tensors(const Json &json) const {
    std::vector<TensorDef> list;
    for (const auto &[role, value] : json.members) {
      if (role != "layer") {
        addTensor(list, tensor(role, value, false));
        continue;
      }
      if (!value.isObject())
        fail(value, "'layer' must be an object of tensors");
      for (const auto &[layerRole, layerValue] : value.members)
        addTensor(list, tensor(layerRole, layerValue, true));
    }
    std::map<std::string, const TensorDef *> roles;
    for (const TensorDef &def : list)
      if (!roles.try_emplace(def.role, &def).second)
        throw InputError(def.location.position() + ": the role '" + def.role + "' stands twice");
    return list;
  }

  /// Roles that statements may name: all but those of tensors that are only read in parts.
  static std::vector<std::string> rolesOf(const std::vector<TensorDef> &list) {
    std::vector<std::string> roles;
    for (const TensorDef &def : list)
      if (def.parts.empty())
        roles.push_back(def.role);
    std::sort(roles.begin(), roles.end());
    return roles;
  }

  void parseForms() {
    std::vector<std::string> roles = rolesOf(description.tensors);
    for (const Json &item : list("forms").items) {
      if (!item.isObject())
        fail(item, "an alternative of 'forms' is an object with 'tensors'");
      onlyKeys(item, {"when", "tensors"});
      FormDef form;
      form.when = optionalExpression(item, "when");
      const Json &own = section(item, "tensors", Json::Kind::Object);
      for (const auto &[role, value] : own.members)
        if (role == "layer") {
          for (const auto &member : value.members)
            if (!member.second.isNull())
              form.own.push_back(member.first);
        } else if (!value.isNull()) {
          form.own.push_back(role);
        }
      if (form.own.empty())
        fail(item, "an alternative of 'forms' needs 'tensors' of its own");
      Json merged = object("tensors");
      mergeJson(merged, own, "tensors");
      form.tensors = tensors(merged);
      if (rolesOf(form.tensors) != roles)
        fail(item, "a form stores the same roles as 'tensors' does, only otherwise; " +
                       difference(roles, rolesOf(form.tensors)));
      description.forms.push_back(std::move(form));
    }
  }
  static std::string difference(const std::vector<std::string> &a,
                                const std::vector<std::string> &b) {
    std::vector<std::string> only;
    std::set_symmetric_difference(a.begin(), a.end(), b.begin(), b.end(),
                                  std::back_inserter(only));
    std::string text;
    for (const std::string &role : only)
      text += (text.empty() ? "'" : ", '") + role + "'";
    return "only one of the two has " + text;
  }

  void parseMtp() {
    const Json *json = root.find("mtp");
    if (!json || json->isNull())
      return;
    if (!json->isObject())
      fail(*json, "'mtp' must be an object");
    onlyKeys(*json, {"count", "from", "like", "renamed", "without", "tensors"});
    MtpDef def;
    def.count = optionalExpression(*json, "count");
    def.from = optionalExpression(*json, "from");
    def.like = optionalExpression(*json, "like");
    if (!def.count)
      fail(*json, "'mtp' needs 'count', how many layers there are");
    for (const auto &[from, to] : section(*json, "renamed", Json::Kind::Object).members)
      def.renamed.replaced.emplace_back(from, text(to));
    def.without = texts(*json, "without");
    for (const std::string &role : def.without)
      if (!description.findTensor(role))
        fail(*json, "'" + role + "' in 'without' is no role of 'tensors'");
    def.tensors = tensors(section(*json, "tensors", Json::Kind::Object));
    description.mtp = std::move(def);
  }

  void parseDefaults() {
    std::vector<std::string> read;
    for (const ParamDef &def : description.params) {
      std::vector<std::string> names;
      collectNames(*def.value, names);
      for (const std::string &name : names)
        if (name == def.name || !description.findParam(name))
          read.push_back(name);
    }
    for (const auto &[key, value] : object("defaults").members) {
      // What is inherited may be for parameters that a description has removed.
      bool isOwn = value.fileIndex + 1 == files.size();
      if (isOwn && std::find(read.begin(), read.end(), key) == read.end()) {
        std::vector<std::string> near = nearWords(key, read, 1);
        fail(value, "no parameter reads config key '" + key + "', which 'defaults' gives a value" +
                        (near.empty() ? "" : "; did you mean '" + near[0] + "'?"));
      }
      description.defaults.emplace_back(key, value);
    }
  }

  void parsePrefixes() {
    for (const Json &item : list("prefixes").items) {
      if (!item.isObject())
        fail(item, "an alternative of 'prefixes' is an object of beginnings of names");
      PrefixDef def;
      for (const auto &[from, to] : item.members) {
        if (from == "when")
          def.when = expression(to);
        else
          def.replaced.emplace_back(from, text(to));
      }
      description.prefixes.push_back(std::move(def));
    }
  }

  void parseLayers() {
    const Json &layers = object("layers");
    onlyKeys(layers, {"count", "block"});
    if (const Json *count = layers.find("count"))
      description.layerCount = expression(*count);
    if (const Json *block = layers.find("block"))
      description.layerBlock = expression(*block);
  }

  BlockDef block(const std::string &headText, const Json &json) {
    BlockDef def;
    std::tie(def.name, def.formals) = head(headText, json);
    // A block without a list of arguments takes the residual stream.
    if (headText.find('(') == std::string::npos)
      def.formals = {"x"};
    def.location = locate(json);
    if (!json.isArray() || json.items.empty())
      fail(json, "a block is a list of statements");
    for (const Json &line : json.items)
      def.statements.push_back(statement(line));
    checkUses(def.statements);
    return def;
  }

  void parseGguf(const Json &json) {
    if (!json.isObject())
      fail(json, "'gguf' must be an object");
    onlyKeys(json, {"arch", "keys", "config", "tensors", "irrelevant", "ignored_tensors",
                    "rope_divisors", "rope_factors", "rope_pairing"});
    GgufDef def;
    if (const Json *arch = json.find("arch"))
      def.arch = text(*arch);
    for (const auto &[key, value] : section(json, "keys", Json::Kind::Object).members) {
      GgufDef::KeyMap map;
      map.metadataKey = key;
      if (value.isObject()) {
        onlyKeys(value, {"key", "values"});
        const Json *configKey = value.find("key");
        map.configKey = configKey ? text(*configKey) : std::string();
        for (const auto &[from, to] : section(value, "values", Json::Kind::Object).members)
          map.values.emplace_back(from, to);
      } else {
        map.configKey = text(value);
      }
      def.keys.push_back(std::move(map));
    }
    for (const auto &[key, value] : section(json, "config", Json::Kind::Object).members)
      def.config.emplace_back(key, expression(value));
    for (const auto &[role, value] : section(json, "tensors", Json::Kind::Object).members) {
      if (!description.findTensor(role))
        fail(value, "'" + role + "' is no role of 'tensors'; where that is meant, set it to null in "
                    "'gguf.tensors' as well");
      def.tensors[role] = text(value);
    }
    def.irrelevant = texts(json, "irrelevant");
    def.ignoredTensors = texts(json, "ignored_tensors");
    if (const Json *divisors = json.find("rope_divisors"))
      def.ropeDivisors = text(*divisors);
    if (const Json *factors = json.find("rope_factors"); factors && !factors->isNull()) {
      if (!factors->isArray() || factors->items.size() != 2)
        fail(*factors, "'rope_factors' is a list of two tensors, the short and the long factors");
      def.ropeShortFactors = text(factors->items[0]);
      def.ropeLongFactors = text(factors->items[1]);
    }
    def.ropeInterleaved = pairing(json);
    description.gguf = std::move(def);
  }

  const Json &root;
  const std::vector<std::string> &files;
  Description description;
};

} // namespace

Description parseDescription(const Json &json, const std::string &name,
                             const std::vector<std::string> &files) {
  if (!json.isObject())
    throw InputError(files.back() + ": a description must be an object, it is " + json.kindName());
  return SectionParser(json, files).parse(name);
}

} // namespace llmc::frontend
