//===- Catalogue.cpp - facts of well-known models by name -----------------===//
#include "llmc/Frontend/Catalogue.h"

#include "llmc/Frontend/ConfigView.h"
#include "llmc/Support/Error.h"

#include <algorithm>
#include <filesystem>
#include <set>

namespace fs = std::filesystem;

namespace llmc::frontend {

namespace {

std::string small(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
    return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : char(c);
  });
  return name;
}

/// One file while it is read.
class FileReader {
public:
  FileReader(const std::string &file, const Json &root) : file(file), root(root) {
    onlyKeys(root, {"about", "config", "columns", "models"});
    for (const Json &column : member(root, "columns", Json::Kind::Array).items) {
      if (!column.isString())
        fail(column, "a column is the name of a config key");
      columns.push_back(column.text);
    }
  }

  Json configOf(const std::string &name) {
    constexpr size_t deepest = 16;
    if (!reading.insert(name).second)
      fail(*models().find(name), "'like' leads from '" + name + "' back to itself");
    if (reading.size() > deepest)
      fail(*models().find(name), "'like' goes through more than " + std::to_string(deepest) +
                                     " models");
    const Json *entry = models().find(name);
    onlyKeys(*entry, {"like", "row", "config", "parameters"});
    Json config = Json::makeObject();
    if (const Json *like = entry->find("like")) {
      if (!like->isString() || !models().find(like->text))
        fail(*like, "'like' names another model of this file");
      config = configOf(like->text);
    } else {
      merge(config, member(root, "config", Json::Kind::Object));
    }
    const Json &row = member(*entry, "row", Json::Kind::Array);
    if (entry->find("row") && row.items.size() != columns.size())
      fail(row, "the row has " + std::to_string(row.items.size()) + " values for " +
                    std::to_string(columns.size()) + " columns");
    for (size_t i = 0; i < row.items.size(); ++i)
      config.set(columns[i], row.items[i]);
    merge(config, member(*entry, "config", Json::Kind::Object));
    reading.erase(name);
    return config;
  }

  const Json &models() const { return member(root, "models", Json::Kind::Object); }

  int64_t parametersOf(const Json &entry) const {
    const Json *value = entry.find("parameters");
    if (value && (!value->isInt() || value->integer < 1))
      fail(*value, "'parameters' is the number of elements of all weights");
    return value ? value->integer : -1;
  }

  [[noreturn]] void fail(const Json &json, const std::string &message) const {
    throw InputError(file + ":" + std::to_string(json.line) + ":" + std::to_string(json.column) +
                     ": " + message + ", here is " + json.dump(80));
  }

private:
  /// A member, or an empty value of the kind.
  const Json &member(const Json &object, const char *key, Json::Kind kind) const {
    static const Json array = Json::makeArray(), empty = Json::makeObject();
    const Json *value = object.find(key);
    if (!value)
      return kind == Json::Kind::Array ? array : empty;
    if (value->kind != kind)
      fail(*value, std::string("'") + key + "' is " +
                       (kind == Json::Kind::Array ? "a list" : "an object"));
    return *value;
  }

  void onlyKeys(const Json &object, const std::vector<std::string> &known) const {
    if (!object.isObject())
      fail(object, "an object is expected");
    for (const auto &entry : object.members)
      if (std::find(known.begin(), known.end(), entry.first) == known.end())
        fail(entry.second, "'" + entry.first + "' is no key of a catalogue");
  }

  /// Values replace, as in a config that says it all.
  static void merge(Json &into, const Json &from) {
    for (const auto &[key, value] : from.members)
      into.set(key, value);
  }

  const std::string &file;
  const Json &root;
  std::vector<std::string> columns;
  std::set<std::string> reading;
};

} // namespace

Catalogue::Catalogue(const std::string &folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error))
    return;
  std::vector<std::string> files;
  fs::directory_iterator entry(folder, error), end;
  for (; !error && entry != end; entry.increment(error))
    if (entry->path().extension() == ".jsonc")
      files.push_back(entry->path().string());
  if (error)
    throw InputError(folder + ": cannot be listed: " + error.message());
  std::sort(files.begin(), files.end());
  for (const std::string &file : files)
    addFile(file);
}

void Catalogue::addFile(const std::string &file) {
  Json root = readJsonFile(file, true);
  FileReader reader(file, root);
  for (const auto &[name, entry] : reader.models().members) {
    Model model{name, file, reader.configOf(name), reader.parametersOf(entry)};
    auto [it, isNew] = models.try_emplace(small(name), std::move(model));
    if (!isNew)
      reader.fail(entry, "the model '" + name + "' stands twice, also in " + it->second.file);
  }
}

const Catalogue::Model *Catalogue::find(const std::string &name) const {
  auto it = models.find(small(name));
  return it == models.end() ? nullptr : &it->second;
}

std::vector<std::string> Catalogue::names() const {
  std::vector<std::string> list;
  for (const auto &model : models)
    list.push_back(model.second.name);
  return list;
}

std::shared_ptr<const ModelSource> Catalogue::open(const std::string &path) const {
  std::error_code error;
  bool exists = fs::exists(path, error);
  if (const Model *model = exists ? nullptr : find(path)) {
    ModelSource source;
    source.kind = ModelSource::Kind::ConfigFile;
    source.path = model->name;
    source.configFile = model->file;
    source.config = model->config;
    return std::make_shared<const ModelSource>(std::move(source));
  }
  // Only what could be meant as a name gets near ones.
  if (!exists && !error && path.find('/') == std::string::npos) {
    std::vector<std::string> near = nearNames(small(path), names(), 3);
    std::string list;
    for (const std::string &name : near)
      list += (list.empty() ? "" : ", ") + name;
    if (!list.empty())
      throw InputError(path + ": no such file or folder, and no model of the catalogue; near are " +
                       list);
  }
  return std::make_shared<const ModelSource>(ModelSource::open(path));
}

} // namespace llmc::frontend
