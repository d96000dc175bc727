//===- ConfigView.cpp - one spelling for every config ---------------------===//
#include "llmc/Frontend/ConfigView.h"

#include <algorithm>

namespace llmc::frontend {

/// The object that holds the language model's keys in multimodal configs.
static const char nesting[] = "text_config";

/// Keys that a wrapper and the language model inside it spell differently for good reason.
static bool mayDifferOutside(const std::string &key) {
  static const std::set<std::string> keys = {
      "model_type",    "architectures", "transformers_version", "dtype",
      "_name_or_path", "bos_token_id",  "eos_token_id",         "pad_token_id",
      "use_cache",     "torch_dtype",   "initializer_range",    "auto_map"};
  return keys.count(key) != 0;
}

/// The last part of a path. A key that holds the name of a nested object and a dot is quoted:
/// it is not the key inside that object. `isNamed`: a synonym names such a field.
static std::string pathPart(const std::string &key, bool inRope, bool isNamed = false) {
  size_t dot = key.find('.');
  if (dot == std::string::npos)
    return key;
  std::string first = key.substr(0, dot);
  bool looksNested = inRope || isNamed || first == nesting || first == "rope_scaling" ||
                     first == "rope_parameters";
  return looksNested ? "'" + key + "'" : key;
}

ConfigView::ConfigView(Json config, std::string file,
                       const std::vector<std::pair<std::string, std::string>> &otherNames)
    : root(std::make_shared<const Json>(std::move(config))), file(std::move(file)) {
  if (!root->isObject())
    throw InputError(this->file + ": a config must be an object, it is " + root->kindName());
  synonyms.insert(otherNames.begin(), otherNames.end());
  synonyms.emplace("torch_dtype", "dtype");
  // The inner object goes first: its values are the language model's own.
  if (const Json *inner = root->find(nesting); inner && inner->isObject())
    addObject(*inner, std::string(nesting) + ".");
  addObject(*root, "");
}

void ConfigView::addObject(const Json &object, const std::string &prefix) {
  for (const auto &[key, value] : object.members) {
    std::string path = prefix + pathPart(key, false, synonyms.count(key) != 0);
    if (key == nesting && prefix.empty() && value.isObject() && !value.members.empty())
      continue;
    paths[path] = &value;
    if (key == "rope_theta" || key == "original_max_position_embeddings") {
      addRopeSynonym(key, value, path);
      addRopeField("", key, value, path);
    } else if (key == "rope_scaling" || key == "rope_parameters") {
      if (value.isObject() && !value.members.empty()) {
        paths.erase(path);
        addRope(value, path + ".", "");
      } else if (value.isNull() || value.isObject()) {
        emptyRope.push_back({path, &value});
      } else {
        throw InputError(file + ": key '" + path + "' must be an object or null, it is " +
                         value.dump(80));
      }
    } else if (addRopeOfGroup(key, value, path)) {
      continue;
    } else if (value.isObject() && namesFieldsOf(key)) {
      paths.erase(path);
      addFields(value, key, path + ".");
    } else {
      // A dot in a synonym stands between an object and its field.
      auto it = key.find('.') == std::string::npos ? synonyms.find(key) : synonyms.end();
      add(it == synonyms.end() ? key : it->second, value, path);
    }
  }
}

bool ConfigView::namesFieldsOf(const std::string &key) const {
  auto it = synonyms.lower_bound(key + ".");
  return it != synonyms.end() && it->first.starts_with(key + ".");
}

/// Of an object whose fields the description's synonyms name `OBJECT.FIELD`.
void ConfigView::addFields(const Json &object, const std::string &key,
                           const std::string &prefix) {
  for (const auto &[field, value] : object.members) {
    bool isQuoted = field.find('.') != std::string::npos;
    std::string path = prefix + (isQuoted ? "'" + field + "'" : field);
    paths[path] = &value;
    auto it = isQuoted ? synonyms.end() : synonyms.find(key + "." + field);
    if (it != synonyms.end())
      add(it->second, value, path);
  }
}

/// What a description's synonyms take for the record of a layer type, `rope_parameters.TYPE`, or
/// for a field of it, `rope_parameters.TYPE.FIELD`.
bool ConfigView::addRopeOfGroup(const std::string &key, const Json &value,
                                const std::string &path) {
  auto it = synonyms.find(key);
  constexpr std::string_view start = "rope_parameters.";
  if (it == synonyms.end() || key.find('.') != std::string::npos || !it->second.starts_with(start))
    return false;
  std::string group = it->second.substr(start.size());
  if (size_t dot = group.find('.'); dot != std::string::npos) {
    addRopeField(group.substr(0, dot), group.substr(dot + 1), value, path);
  } else if (value.isObject() && !value.members.empty()) {
    paths.erase(path);
    addRope(value, path + ".", group);
  } else if (value.isObject() || value.isNull()) {
    emptyRope.push_back({path, &value});
  } else {
    throw InputError(file + ": key '" + path + "' must be an object or null, it is " +
                     value.dump(80));
  }
  return true;
}

/// What a description names `rope_parameters.FIELD` in its synonyms is a key as well.
void ConfigView::addRopeSynonym(const std::string &field, const Json &value,
                                const std::string &path) {
  if (auto it = synonyms.find("rope_parameters." + field); it != synonyms.end())
    add(it->second, value, path);
}

void ConfigView::addRope(const Json &object, const std::string &prefix,
                         const std::string &layerType) {
  for (const auto &[field, value] : object.members) {
    std::string path = prefix + pathPart(field, true);
    // Newer configs hold one object a layer type.
    if (value.isObject() && !value.members.empty() && layerType.empty()) {
      addRope(value, path + ".", field);
      continue;
    }
    paths[path] = &value;
    if (layerType.empty())
      addRopeSynonym(field, value, path);
    if (field == "partial_rotary_factor" && layerType.empty())
      add(field, value, path);
    else
      addRopeField(layerType, field == "type" ? "rope_type" : field, value, path);
  }
}

void ConfigView::contradiction(const Entry &a, const Entry &b) const {
  throw InputError(file + ": '" + a.path + "' is " + a.value->dump(80) + " but '" + b.path +
                   "', another spelling of the same, is " + b.value->dump(80) +
                   "; make them agree or remove one");
}

void ConfigView::add(const std::string &key, const Json &value, const std::string &path) {
  Spellings &spellings = entries[key];
  if (!spellings.empty() && !(*spellings.front().value == value) && !mayDifferOutside(key))
    contradiction(spellings.front(), {path, &value});
  spellings.push_back({path, &value});
}

void ConfigView::addRopeField(const std::string &layerType, const std::string &field,
                              const Json &value, const std::string &path) {
  Spellings &spellings = ropeFields[layerType][field];
  if (!spellings.empty() && !(*spellings.front().value == value))
    contradiction(spellings.front(), {path, &value});
  spellings.push_back({path, &value});
}

void ConfigView::mark(const Spellings &spellings, const std::string &user) {
  for (const Entry &entry : spellings) {
    std::vector<std::string> &users = usedPaths[entry.path];
    if (std::find(users.begin(), users.end(), user) == users.end())
      users.push_back(user);
  }
}

const Json *ConfigView::use(const std::string &key, const std::string &user) {
  auto it = entries.find(key);
  if (it == entries.end())
    return nullptr;
  mark(it->second, user);
  return it->second.front().value;
}

const Json *ConfigView::peek(const std::string &key) const {
  auto it = entries.find(key);
  return it == entries.end() ? nullptr : it->second.front().value;
}

std::string ConfigView::quoted(const std::string &path) const {
  auto it = origins.find(path);
  return it == origins.end() ? "'" + path + "'" : "'" + it->second + "' (here '" + path + "')";
}

std::string ConfigView::describe(const std::string &key) const {
  auto it = entries.find(key);
  if (it == entries.end())
    return file + ": key " + quoted(key) + " (absent)";
  const Entry &entry = it->second.front();
  std::string place = file;
  if (entry.value->line)
    place += ":" + std::to_string(entry.value->line) + ":" + std::to_string(entry.value->column);
  return place + ": key " + quoted(entry.path) + " = " + entry.value->dump(80);
}

void ConfigView::markIrrelevant(const std::string &pattern) {
  irrelevantPatterns.push_back(pattern);
}

void ConfigView::endEvaluation() {
  for (const auto &entry : usedPaths)
    evaluatedPaths.insert(entry.first);
}

static bool matches(const std::string &pattern, const std::string &text) {
  if (pattern.ends_with('*'))
    return text.starts_with(std::string_view(pattern).substr(0, pattern.size() - 1));
  return pattern == text;
}

ConfigLedger ConfigView::finish(const std::vector<std::string> &acceptKeys) const {
  ConfigLedger ledger;
  ledger.evaluated = evaluatedPaths;
  std::string prefix = std::string(nesting) + ".";
  for (const auto &[path, value] : paths) {
    auto used = usedPaths.find(path);
    if (used != usedPaths.end()) {
      ledger.used.insert(*used);
      continue;
    }
    std::string bare = path.starts_with(prefix) ? path.substr(prefix.size()) : path;
    auto fits = [&, &path = path](const std::string &pattern) {
      return matches(pattern, path) || matches(pattern, bare);
    };
    if (std::any_of(irrelevantPatterns.begin(), irrelevantPatterns.end(), fits))
      ledger.irrelevant.insert(path);
    else if (std::any_of(acceptKeys.begin(), acceptKeys.end(), fits) ||
             std::any_of(acceptKeys.begin(), acceptKeys.end(), [&](const std::string &key) {
               // A shell takes the quotes away.
               return bare == "'" + key + "'";
             }))
      ledger.accepted.emplace(path, value->dump(80));
    else
      ledger.unknown.emplace(path, value->dump(80));
  }
  return ledger;
}

std::vector<std::string> ConfigView::keys() const {
  std::vector<std::string> names;
  for (const auto &entry : entries)
    names.push_back(entry.first);
  return names;
}

static size_t editDistance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::vector<std::string> nearNames(const std::string &name,
                                   const std::vector<std::string> &candidates, size_t most) {
  std::vector<std::pair<size_t, std::string>> near;
  size_t limit = std::max<size_t>(2, name.size() / 3);
  for (const std::string &candidate : candidates) {
    size_t shorter = std::min(name.size(), candidate.size());
    if (std::max(name.size(), candidate.size()) - shorter > limit)
      continue;
    if (size_t distance = editDistance(name, candidate); distance <= limit)
      near.emplace_back(distance, candidate);
  }
  std::sort(near.begin(), near.end());
  near.erase(std::unique(near.begin(), near.end()), near.end());
  std::vector<std::string> names;
  for (size_t i = 0; i < near.size() && i < most; ++i)
    names.push_back(near[i].second);
  return names;
}

} // namespace llmc::frontend
