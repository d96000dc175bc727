//===- DescriptionSet.cpp - finding, extending and matching ---------------===//
#include "Merge.h"
#include "llmc/Frontend/ConfigView.h"
#include "llmc/Frontend/Description.h"
#include "llmc/Support/Error.h"
#include "llmc/Support/RegularFile.h"

#include <algorithm>
#include <filesystem>

namespace fs = std::filesystem;

namespace llmc::frontend {

static void setFileIndex(Json &json, uint32_t index) {
  json.fileIndex = index;
  for (Json &item : json.items)
    setFileIndex(item, index);
  for (JsonMember &member : json.members)
    setFileIndex(member.second, index);
}

/// The names in `extends`.
static std::vector<std::string> basesOf(const Json &json, const std::string &path) {
  const Json *extends = json.find("extends");
  if (!extends || extends->isNull())
    return {};
  std::vector<std::string> bases;
  if (extends->isString())
    bases.push_back(extends->text);
  for (const Json &item : extends->items)
    bases.push_back(item.text);
  if (bases.empty() || std::count(bases.begin(), bases.end(), std::string()))
    throw InputError(path + ":" + std::to_string(extends->line) + ":" +
                     std::to_string(extends->column) +
                     ": 'extends' must be a name or a list of names, here is " + extends->dump(80));
  return bases;
}

void DescriptionSet::addDirectory(const std::string &folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error))
    return;
  fs::directory_iterator entry(folder, error), end;
  for (; !error && entry != end; entry.increment(error))
    if (entry->path().extension() == ".jsonc") {
      File &file = files[entry->path().stem().string()];
      if (!file.fromUser)
        file = {entry->path().string(), false, std::nullopt};
    }
  if (error)
    throw InputError(folder + ": cannot be listed: " + error.message());
  loaded.clear();
}

std::string DescriptionSet::addFile(const std::string &file) {
  std::error_code error;
  if (std::string problem = whyNotRegular(file); !problem.empty())
    throw InputError(file + ": " + problem);
  if (!fs::is_regular_file(file, error))
    throw InputError(file + ": no such description file");
  std::string name = fs::path(file).stem().string();
  // A user's description may extend the shipped one of its own name; it then gets another.
  std::string key = name;
  if (auto it = files.find(name); it != files.end() && it->second.path != file) {
    Json json = readJsonFile(file, true);
    std::vector<std::string> bases = basesOf(json, file);
    if (std::find(bases.begin(), bases.end(), name) != bases.end())
      key = name + " (user)";
  }
  files[key] = {file, true, std::nullopt};
  loaded.clear();
  return key;
}

void DescriptionSet::exclude(const std::string &name) { excluded.push_back(name); }

/// What matching reads before a description is parsed: the wrong type must not read as none.
static void checkIdentity(const Json &json, const std::string &path) {
  auto fail = [&](const Json &at, const std::string &expected) {
    throw InputError(path + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ": " +
                     expected + ", here is " + at.dump(80));
  };
  if (const Json *about = json.find("about"); about && !about->isNull() && !about->isString())
    fail(*about, "'about' must be text");
  const Json *match = json.find("match");
  if (!match || match->isNull())
    return;
  if (!match->isObject())
    fail(*match, "'match' must be an object");
  for (const char *key : {"model_type", "architectures"}) {
    const Json *list = match->find(key);
    if (!list || list->isNull())
      continue;
    if (!list->isArray())
      fail(*list, std::string("'match.") + key + "' must be a list");
    for (const Json &item : list->items)
      if (!item.isString())
        fail(item, std::string("'match.") + key + "' must be a list of texts");
  }
}

const Json &DescriptionSet::raw(const std::string &name) {
  auto it = files.find(name);
  if (it == files.end()) {
    std::vector<std::string> all;
    for (const auto &file : files)
      all.push_back(file.first);
    std::vector<std::string> near = nearNames(name, all);
    std::string hint = near.empty() ? "" : "; near names: " + near[0];
    for (size_t i = 1; i < near.size(); ++i)
      hint += ", " + near[i];
    throw InputError("there is no description '" + name + "'" + hint);
  }
  if (!it->second.json) {
    it->second.json = readJsonFile(it->second.path, true);
    if (!it->second.json->isObject())
      throw InputError(it->second.path + ": a description must be an object, it is " +
                       it->second.json->kindName());
    checkIdentity(*it->second.json, it->second.path);
  }
  return *it->second.json;
}

Json DescriptionSet::merged(const std::string &name, std::vector<std::string> &chain,
                            std::vector<std::string> &chainFiles) {
  if (std::find(chain.begin(), chain.end(), name) != chain.end())
    throw InputError(files[name].path + ": '" + name + "' extends itself by way of '" +
                     chain.back() + "'");
  chain.push_back(name);
  Json own = raw(name);
  std::vector<std::string> bases = basesOf(own, files[name].path);
  Json result = Json::makeObject();
  for (const std::string &base : bases) {
    std::vector<std::string> inner = chain;
    Json part = merged(base, inner, chainFiles);
    for (size_t i = chain.size(); i < inner.size(); ++i)
      chain.push_back(inner[i]);
    // What a description matches, and the config of a complete model, are its own.
    part.members.erase(std::remove_if(part.members.begin(), part.members.end(),
                                      [](const JsonMember &member) {
                                        return member.first == "match" ||
                                               member.first == "config" ||
                                               member.first == "about" ||
                                               member.first == "renamed";
                                      }),
                       part.members.end());
    if (Json *gguf = part.find("gguf"); gguf && gguf->isObject())
      gguf->members.erase(std::remove_if(gguf->members.begin(), gguf->members.end(),
                                         [](const JsonMember &m) { return m.first == "arch"; }),
                          gguf->members.end());
    mergeJson(result, part, "");
  }
  renameTensors(result, own, files[name].path);
  setFileIndex(own, uint32_t(chainFiles.size()));
  chainFiles.push_back(files[name].path);
  // `extends` and `config` are taken as they are: null is a value in a config.
  Json config;
  bool hasConfig = own.find("config") != nullptr;
  if (hasConfig)
    config = *own.find("config");
  mergeJson(result, own, "");
  if (hasConfig)
    result.set("config", std::move(config));
  return result;
}

Json DescriptionSet::mergedText(const std::string &name, std::vector<std::string> &files) {
  std::vector<std::string> chain;
  return merged(name, chain, files);
}

std::shared_ptr<const Description> DescriptionSet::load(const std::string &name) {
  if (auto it = loaded.find(name); it != loaded.end())
    return it->second;
  std::vector<std::string> chain, chainFiles;
  Json json = merged(name, chain, chainFiles);
  auto description = std::make_shared<Description>(parseDescription(json, name, chainFiles));
  description->bases.assign(chain.begin() + 1, chain.end());
  description->operations = operations;
  loaded[name] = description;
  return description;
}

static bool lists(const Json &json, const char *section, const char *key,
                  const std::string &value) {
  const Json *part = json.find(section);
  const Json *list = part ? part->find(key) : nullptr;
  return list && std::any_of(list->items.begin(), list->items.end(), [&](const Json &item) {
           return item.isString() && item.text == value;
         });
}

bool DescriptionSet::isExcluded(const std::string &name) {
  return std::any_of(excluded.begin(), excluded.end(), [&](const std::string &hidden) {
    return hidden == name || lists(raw(name), "match", "model_type", hidden);
  });
}

std::vector<std::string> DescriptionSet::names() const {
  std::vector<std::string> out;
  // A file that matches nothing is a part for others to extend.
  for (const auto &[name, file] : files) {
    const Json &json = const_cast<DescriptionSet *>(this)->raw(name);
    if (json.find("match") && !const_cast<DescriptionSet *>(this)->isExcluded(name))
      out.push_back(name);
  }
  return out;
}

/// "model_type" and "architectures" of a config or of the text_config inside it.
static std::vector<std::string> identities(const Json &config, const char *key) {
  std::vector<std::string> out;
  const Json *inner = config.find("text_config");
  for (const Json *place : {&config, inner}) {
    const Json *value = place ? place->find(key) : nullptr;
    if (value && value->isString())
      out.push_back(value->text);
    if (value)
      for (const Json &item : value->items)
        if (item.isString())
          out.push_back(item.text);
  }
  return out;
}

std::shared_ptr<const Description> DescriptionSet::match(const ModelSource &source) {
  if (source.kind == ModelSource::Kind::Description) {
    for (const auto &[name, file] : files)
      if (file.path == source.descriptionFile)
        return load(name);
    return load(addFile(source.descriptionFile));
  }
  // The user's own go first, then the order of names.
  std::vector<std::string> candidates;
  for (bool user : {true, false})
    for (const auto &[name, file] : files)
      if (file.fromUser == user && !isExcluded(name))
        candidates.push_back(name);
  if (source.isGguf()) {
    for (const std::string &name : candidates) {
      const Json *gguf = raw(name).find("gguf");
      const Json *arch = gguf ? gguf->find("arch") : nullptr;
      if (arch && arch->isString() && arch->text == source.gguf->architecture)
        return load(name);
    }
    return nullptr;
  }
  auto listsClass = [&](const std::string &name) {
    for (const std::string &identity : identities(source.config, "architectures"))
      if (lists(raw(name), "match", "architectures", identity))
        return true;
    return false;
  };
  for (const char *key : {"model_type", "architectures"})
    for (const std::string &identity : identities(source.config, key)) {
      std::string found;
      for (const std::string &name : candidates) {
        if (!lists(raw(name), "match", key, identity))
          continue;
        // Where several are of one type, the class says which generation it is.
        bool better = !found.empty() && files[name].fromUser == files[found].fromUser &&
                      !listsClass(found) && listsClass(name);
        if (found.empty() || better)
          found = name;
      }
      if (!found.empty())
        return load(found);
    }
  return nullptr;
}

std::string DescriptionSet::matchText(const std::string &name, bool isGguf) {
  const Json *section = raw(name).find(isGguf ? "gguf" : "match");
  std::string has;
  for (const char *key : {"arch", "model_type", "architectures"}) {
    const Json *value = section ? section->find(key) : nullptr;
    std::string values = value && value->isString() ? ", '" + value->text + "'" : "";
    if (value)
      for (const Json &item : value->items)
        if (item.isString())
          values += ", '" + item.text + "'";
    if (!values.empty())
      has += (has.empty() ? "" : " and ") + std::string(key) + values.substr(1);
  }
  return has;
}

std::vector<std::string> DescriptionSet::unusedFiles(const ModelSource &source,
                                                     const Description &matched) {
  std::vector<std::string> types =
      source.isGguf() ? std::vector<std::string>{source.gguf->architecture}
                      : identities(source.config, "model_type");
  std::string model = types.empty() ? "'" + matched.name + "'" : "'" + types.front() + "'";
  std::vector<std::string> out;
  for (const auto &[name, file] : files) {
    const std::vector<std::string> &bases = matched.bases;
    if (!file.fromUser || name == matched.name ||
        std::find(bases.begin(), bases.end(), name) != bases.end())
      continue;
    std::string has = matchText(name, source.isGguf());
    std::string none = std::string("no model (it has no '") +
                       (source.isGguf() ? "gguf.arch" : "match") +
                       "', which is not inherited from what it extends)";
    out.push_back(file.path + " matches " + (has.empty() ? none : has) + "; this model is " +
                  model + " and described by " + matched.file + ": not used");
  }
  return out;
}

std::string DescriptionSet::typeNote(const ModelSource &source, const Description &matched) {
  std::vector<std::string> types = identities(source.config, "model_type");
  if (types.empty() || source.isGguf() || source.kind == ModelSource::Kind::Description)
    return {};
  for (const std::string &type : types)
    if (std::find(matched.modelTypes.begin(), matched.modelTypes.end(), type) !=
        matched.modelTypes.end())
      return {};
  std::string classes;
  for (const std::string &name : identities(source.config, "architectures"))
    classes += (classes.empty() ? "\"" : ", \"") + name + "\"";
  return source.configFile + ": model_type \"" + types.front() + "\" is not known; taken as '" +
         matched.name + "' because of architectures [" + classes + "]";
}

std::vector<std::string> DescriptionSet::userMisfits(const ModelSource &source) {
  std::vector<std::string> out;
  for (const auto &[name, file] : files) {
    if (!file.fromUser)
      continue;
    std::string has = matchText(name, source.isGguf());
    const char *kind = source.isGguf() ? "gguf" : "match";
    out.push_back(file.path + " was given, but " +
                  (has.empty() ? "it has no '" + std::string(kind) + "' that names a model"
                               : "its " + std::string(kind) + " names " + has));
  }
  return out;
}

} // namespace llmc::frontend
