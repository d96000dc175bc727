//===- ModelSource.cpp - what kind of model a path is ---------------------===//
#include "llmc/Frontend/ModelSource.h"

#include "llmc/Frontend/QuantizationConfig.h"

#include "llmc/Support/Error.h"

#include <cstring>
#include <filesystem>
#include <fstream>

namespace fs = std::filesystem;

namespace llmc::frontend {

static bool startsWithGguf(const std::string &path) {
  char magic[4] = {};
  std::ifstream(path, std::ios::binary).read(magic, 4);
  return std::memcmp(magic, "GGUF", 4) == 0;
}

static Json readBeside(const fs::path &folder, const char *name) {
  fs::path file = folder / name;
  std::error_code error;
  return fs::is_regular_file(file, error) ? readJsonFile(file.string()) : Json();
}

const Json *quantizationOf(const ModelSource &source, std::string &file) {
  file = source.configFile;
  auto isObject = [](const Json *json) { return json && json->isObject(); };
  const Json *text = source.config.find("text_config");
  for (const char *key : {"quantization_config", "compression_config"}) {
    if (const Json *found = source.config.find(key); isObject(found))
      return found;
    if (const Json *found = text ? text->find(key) : nullptr; isObject(found))
      return found;
  }
  file = (fs::path(source.configFile).parent_path() / "hf_quant_config.json").string();
  const Json *section = source.quantConfig.find("quantization");
  return isObject(section) ? section : nullptr;
}

/// A section that is no object would be left out as if there were none.
static std::string notAnObject(const ModelSource &source) {
  const Json *text = source.config.find("text_config");
  for (const Json *config : {text, &source.config})
    for (const char *key : {"quantization_config", "compression_config"}) {
      const Json *found = config ? config->find(key) : nullptr;
      if (found && !found->isObject() && !found->isNull())
        return source.configFile + ":" + std::to_string(found->line) + ":" +
               std::to_string(found->column) + ": key '" + key + "' = " + found->dump(60) +
               " must be an object or null";
    }
  return "";
}

static void readQuantization(ModelSource &source) {
  source.quantFault = notAnObject(source);
  std::string file;
  const Json *config = quantizationOf(source, file);
  if (!config)
    return;
  try {
    source.quantization = readQuantScheme(*config, file);
  } catch (const InputError &error) {
    // A fault of the model's content: whoever resolves it says so.
    source.quantFault = error.what();
    return;
  }
  if (source.checkpoint && source.quantization->readable)
    source.checkpoint = pairTensors(std::move(source.checkpoint), *source.quantization);
}

static void readFolder(ModelSource &source, const fs::path &folder) {
  source.config = readJsonFile(source.configFile);
  if (!source.config.isObject())
    throw InputError(source.configFile + ": a config must be an object, it is " +
                     source.config.kindName());
  source.checkpoint = openSafetensorsFolder(folder.string());
  source.tokenizerFolder = folder.string();
  source.generationConfig = readBeside(folder, "generation_config.json");
  source.quantConfig = readBeside(folder, "hf_quant_config.json");
  readQuantization(source);
}

ModelSource ModelSource::open(const std::string &path) {
  ModelSource source;
  source.path = path;
  std::error_code error;
  fs::path given(path);
  if (fs::is_directory(given, error)) {
    source.kind = Kind::Folder;
    source.configFile = (given / "config.json").string();
    if (!fs::is_regular_file(source.configFile, error) &&
        fs::is_regular_file(given / "manifest.json", error))
      throw InputError(path + ": is an artifact, which is compiled already: `llmc run`, `llmc "
                              "verify`, `llmc inspect` and `llmc diff` take it. Name the model that "
                              "it was made of");
    if (!fs::is_regular_file(source.configFile, error))
      throw InputError(path + ": the folder holds no config.json; name a Hugging Face folder, a "
                              "GGUF file or a description");
    readFolder(source, given);
    return source;
  }
  if (!fs::is_regular_file(given, error))
    throw InputError(path + (fs::exists(given, error)
                                 ? ": is neither a file nor a folder, so there is nothing to read"
                                 : ": no such file or folder"));
  if (given.extension() == ".gguf" || startsWithGguf(path)) {
    source.kind = Kind::Gguf;
    source.configFile = path;
    source.gguf = openGguf(path);
    source.checkpoint = source.gguf->checkpoint;
    return source;
  }
  if (given.extension() != ".json" && given.extension() != ".jsonc")
    throw InputError(path + ": is neither a folder, a GGUF file, a config.json nor a "
                            "description (.jsonc)");
  Json json = readJsonFile(path, true);
  const Json *config = json.find("config");
  bool isDescription = given.extension() == ".jsonc" || (config && config->isObject());
  source.configFile = path;
  if (!isDescription) {
    // A config.json by itself: the same as its folder, but without looking for weights.
    source.kind = Kind::ConfigFile;
    if (!json.isObject())
      throw InputError(path + ": a config must be an object, it is " + json.kindName());
    fs::path folder = given.has_parent_path() ? given.parent_path() : fs::path(".");
    source.config = readJsonFile(path);
    source.tokenizerFolder = folder.string();
    source.generationConfig = readBeside(folder, "generation_config.json");
    source.quantConfig = readBeside(folder, "hf_quant_config.json");
    readQuantization(source);
    return source;
  }
  source.kind = Kind::Description;
  source.descriptionFile = path;
  if (!config || !config->isObject())
    throw InputError(path + ": this description holds no 'config' object, so it describes an "
                            "architecture and no model; add one, or pass the file by "
                            "--description together with a model");
  source.config = *config;
  readQuantization(source);
  return source;
}

} // namespace llmc::frontend
