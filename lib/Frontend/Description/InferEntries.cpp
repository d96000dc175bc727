//===- InferEntries.cpp - descriptions as sets of entries -----------------===//
#include "InferEntries.h"
#include "Merge.h"
#include "llmc/Support/Error.h"

#include <algorithm>

namespace llmc::frontend {

static bool isDigit(char c) { return c >= '0' && c <= '9'; }

std::string templateOf(const std::string &tensor) {
  std::string out;
  bool hasLayer = false;
  for (size_t at = 0; at < tensor.size();) {
    bool starts = at == 0 || tensor[at - 1] == '.';
    size_t end = at;
    while (end < tensor.size() && isDigit(tensor[end]))
      ++end;
    if (starts && end > at && (end == tensor.size() || tensor[end] == '.')) {
      out += hasLayer ? "{e}" : "{i}";
      hasLayer = true;
      at = end;
      continue;
    }
    out += tensor[at++];
  }
  return out;
}

std::string tailOf(const std::string &nameTemplate) {
  if (size_t at = nameTemplate.find(".{i}."); at != std::string::npos)
    return nameTemplate.substr(at + 5);
  size_t last = nameTemplate.rfind('.');
  size_t before = last == std::string::npos || last == 0 ? std::string::npos
                                                         : nameTemplate.rfind('.', last - 1);
  return "/" + (before == std::string::npos ? nameTemplate : nameTemplate.substr(before + 1));
}

bool endAlike(const std::string &a, const std::string &b) {
  auto ending = [](const std::string &name) {
    size_t dot = name.rfind('.');
    std::string last = name.substr(dot + 1);
    if ((last != "weight" && last != "bias") || dot == std::string::npos || dot == 0)
      return last;
    size_t before = name.rfind('.', dot - 1);
    return before == std::string::npos ? name : name.substr(before + 1);
  };
  return ending(a) == ending(b) &&
         (a.find("{i}") == std::string::npos) == (b.find("{i}") == std::string::npos) &&
         (a.find("{e}") == std::string::npos) == (b.find("{e}") == std::string::npos);
}

bool fitsPattern(const std::string &pattern, const std::string &text) {
  if (pattern.ends_with('*'))
    return text.starts_with(std::string_view(pattern).substr(0, pattern.size() - 1));
  return pattern == text;
}

Entry namedEntry(const std::string &name) {
  Entry entry;
  entry.head = name;
  entry.value = Json::makeString(name);
  return entry;
}

Entry renamedTensor(const Entry &entry, const std::string &name) {
  Entry out = entry;
  out.tensor = name;
  if (!out.value.items.empty())
    out.value.items[0] = Json::makeString(name);
  return out;
}

std::string bareKey(const std::string &key) {
  constexpr std::string_view nesting = "text_config.";
  return key.starts_with(nesting) ? key.substr(nesting.size()) : key;
}

static void shiftFiles(Json &json, uint32_t offset) {
  json.fileIndex += offset;
  for (Json &item : json.items)
    shiftFiles(item, offset);
  for (JsonMember &member : json.members)
    shiftFiles(member.second, offset);
}

static void readNames(const ExprPtr &expr, Entry &entry);

static void readNames(const Expr &expr, Entry &entry) {
  if (expr.kind == Expr::Kind::Literal)
    if (const std::string *text = expr.literal.get<std::string>())
      entry.texts.insert(*text);
  if (expr.kind == Expr::Kind::Name || expr.kind == Expr::Kind::Call)
    entry.reads.insert(expr.name);
  for (const ExprPtr &child : expr.children)
    readNames(child, entry);
  for (const auto &named : expr.named)
    readNames(named.second, entry);
}

static void readNames(const ExprPtr &expr, Entry &entry) {
  if (expr)
    readNames(*expr, entry);
}

static void readTensor(const TensorDef &def, Entry &entry) {
  for (const ExprPtr &expr : {def.shape, def.when, def.bias, def.tied, def.experts, def.groups,
                              def.stored, def.values})
    readNames(expr, entry);
  Entry conditions;
  readNames(def.when, conditions);
  readNames(def.bias, conditions);
  entry.conditions = std::move(conditions.reads);
  for (const TensorPart &part : def.parts) {
    readNames(part.rows, entry);
    entry.roles.insert(part.role);
  }
  if (def.parts.empty())
    entry.roles.insert(def.role);
  entry.tensor = def.nameTemplate;
}

static void readStatements(const std::vector<Statement> &statements, Entry &entry) {
  for (const Statement &statement : statements) {
    Entry one;
    readNames(statement.value, one);
    entry.reads.insert(one.reads.begin(), one.reads.end());
    entry.texts.insert(one.texts.begin(), one.texts.end());
    entry.statements.push_back(std::move(one.reads));
  }
}

namespace {

/// Takes one description apart.
class Taker {
public:
  Taker(KnownDescription &known, const Description &parsed) : known(known), parsed(parsed) {}

  void take() {
    section("params");
    section("blocks");
    section("synonyms");
    section("defaults");
    if (const Json *tensors = known.json.find("tensors"))
      for (const auto &[role, value] : tensors->members) {
        if (role != "layer") {
          add({"tensors", role}, role, value);
          continue;
        }
        for (const auto &[inner, innerValue] : value.members)
          add({"tensors.layer", inner}, inner, innerValue);
      }
    if (const Json *ledger = known.json.find("ledger")) {
      if (const Json *require = ledger->find("require"))
        for (const auto &[key, value] : require->members)
          add({"ledger.require", key}, key, value);
      for (const char *list : {"irrelevant", "ignored_tensors"})
        if (const Json *items = ledger->find(list))
          for (const Json &item : items->items)
            if (item.isString())
              add({std::string("ledger.") + list, item.text}, item.text, item);
    }
    for (const char *whole : {"checks", "prefixes", "forms", "model", "layers", "mtp",
                              "rope_pairing"})
      if (const Json *value = known.json.find(whole))
        add({whole, ""}, whole, *value);
    readParsed();
    readKeys();
  }

private:
  void add(EntryKey key, const std::string &head, const Json &value) {
    Entry entry;
    entry.head = head;
    entry.value = value;
    known.entries[std::move(key)] = std::move(entry);
  }
  void section(const char *name) {
    const Json *json = known.json.find(name);
    if (!json)
      return;
    for (const auto &[head, value] : json->members)
      add({name, head.substr(0, head.find('('))}, head, value);
  }
  Entry *entry(const std::string &section, const std::string &name) {
    auto it = known.entries.find({section, name});
    return it == known.entries.end() ? nullptr : &it->second;
  }

  void readParsed() {
    for (const ParamDef &def : parsed.params)
      if (Entry *e = entry("params", def.name)) {
        readNames(def.value, *e);
        for (const std::string &formal : def.formals)
          e->reads.erase(formal);
      }
    for (const BlockDef &def : parsed.blocks)
      if (Entry *e = entry("blocks", def.name))
        readStatements(def.statements, *e);
    for (const TensorDef &def : parsed.tensors)
      if (Entry *e = entry(def.perLayer ? "tensors.layer" : "tensors", def.role))
        readTensor(def, *e);
    if (Entry *e = entry("model", ""))
      readStatements(parsed.model, *e);
    if (Entry *e = entry("layers", "")) {
      readNames(parsed.layerCount, *e);
      readNames(parsed.layerBlock, *e);
    }
    if (Entry *e = entry("forms", ""))
      for (const FormDef &form : parsed.forms)
        readNames(form.when, *e);
    if (Entry *e = entry("prefixes", ""))
      for (const PrefixDef &prefix : parsed.prefixes)
        readNames(prefix.when, *e);
    if (Entry *e = entry("mtp", ""); e && parsed.mtp)
      for (const ExprPtr &expr : {parsed.mtp->count, parsed.mtp->from, parsed.mtp->like})
        readNames(expr, *e);
    if (Entry *e = entry("checks", ""))
      for (const CheckDef &check : parsed.checks)
        readNames(check.condition, *e);
  }

  void readKeys() {
    for (const ParamDef &def : parsed.params)
      if (const Entry *e = entry("params", def.name))
        for (const std::string &name : e->reads)
          if (name == def.name || !parsed.findParam(name))
            known.keysRead.insert(name);
    known.keys = known.keysRead;
    for (const auto &[other, key] : parsed.synonyms)
      known.keys.insert(other);
    for (const RequireDef &def : parsed.requires_)
      known.keys.insert(def.key);
    for (const std::string &key : parsed.irrelevantKeys)
      known.keys.insert(key);
    for (const TensorDef &def : parsed.tensors) {
      if (def.whole.empty())
        known.tensors.insert(tailOf(def.nameTemplate));
      if (def.bias)
        known.tensors.insert(tailOf(def.biasTemplate));
    }
    for (const FormDef &form : parsed.forms)
      for (const TensorDef &def : form.tensors)
        if (def.whole.empty())
          known.tensors.insert(tailOf(def.nameTemplate));
  }

  KnownDescription &known;
  const Description &parsed;
};

} // namespace

KnownDescriptions::KnownDescriptions(DescriptionSet &set) {
  std::vector<std::string> names = set.names();
  std::set<std::string> whole(names.begin(), names.end()), seen;
  // What they extend may be a part for others, which matches nothing, or be hidden.
  for (size_t at = 0; at < names.size(); ++at) {
    const std::string name = names[at];
    if (!seen.insert(name).second)
      continue;
    try {
      std::shared_ptr<const Description> parsed = set.load(name);
      names.insert(names.end(), parsed->bases.begin(), parsed->bases.end());
      bool matches = !parsed->modelTypes.empty() || !parsed->architectures.empty();
      if (matches && !whole.count(name))
        continue;
      KnownDescription known;
      known.isPart =
          !matches || !parsed->layerCount || !parsed->layerBlock || parsed->model.empty();
      std::vector<std::string> chain;
      known.json = set.mergedText(name, chain);
      shiftFiles(known.json, uint32_t(files.size()));
      files.insert(files.end(), chain.begin(), chain.end());
      known.name = name;
      known.file = parsed->file;
      known.modelTypes = parsed->modelTypes;
      known.architectures = parsed->architectures;
      known.bases = parsed->bases;
      Taker(known, *parsed).take();
      all.push_back(std::move(known));
    } catch (const InputError &) {
      // A file of the user's own that is at fault is reported where it is asked for.
    }
  }
}

bool isOwnDefault(const KnownDescription &description, const std::string &param,
                  const std::set<std::string> &configKeys) {
  std::vector<std::string> names{param};
  std::set<std::string> seen;
  bool readsKeys = false;
  for (size_t at = 0; at < names.size(); ++at) {
    if (!seen.insert(names[at]).second)
      continue;
    if (description.keysRead.count(names[at])) {
      if (configKeys.count(names[at]))
        return false;
      readsKeys = true;
    }
    if (const Entry *entry = description.find({"params", names[at]}))
      names.insert(names.end(), entry->reads.begin(), entry->reads.end());
  }
  return readsKeys;
}

static Json &objectAt(Json &root, const std::string &section) {
  Json *at = &root;
  for (size_t from = 0; from <= section.size();) {
    size_t dot = std::min(section.find('.', from), section.size());
    std::string word = section.substr(from, dot - from);
    if (!at->find(word))
      at->set(word, Json::makeObject());
    at = at->find(word);
    from = dot + 1;
  }
  return *at;
}

Json overlayText(const Overlay &overlay) {
  Json out = Json::makeObject();
  for (const auto &[key, entry] : overlay) {
    bool isListed = key.section == "ledger.irrelevant" || key.section == "ledger.ignored_tensors";
    if (isListed) {
      Json &ledger = objectAt(out, "ledger");
      std::string list = key.section.substr(7);
      if (!ledger.find(list))
        ledger.set(list, Json::makeArray());
      if (entry)
        ledger.find(list)->items.push_back(entry->value);
    } else if (key.name.empty()) {
      out.set(key.section, entry ? entry->value : Json());
    } else {
      Json &section = objectAt(out, key.section);
      section.set(entry ? entry->head : key.name, entry ? entry->value : Json());
    }
  }
  return out;
}

} // namespace llmc::frontend
