//===- Resolver.cpp - config, facts and layer kinds -----------------------===//
#include "Resolver.h"
#include "Hints.h"
#include "Uses.h"
#include "llmc/Frontend/GgufConfig.h"

#include <algorithm>
#include <utility>

namespace llmc::frontend {

void Resolver::problem(Problem::Kind kind, std::string message, bool structural) {
  model.problems.push_back({kind, std::move(message), structural});
}

void Resolver::readConfig() {
  Json config;
  std::map<std::string, std::string> origins;
  if (source.isGguf()) {
    if (!description.gguf)
      throw UnsupportedError(source.path + ": description '" + description.name +
                             "' has no section for GGUF files");
    config = ggufConfig(*source.gguf, *description.gguf, &origins);
    model.ropeInterleaved = description.gguf->ropeInterleaved;
  } else {
    config = source.config;
    model.ropeInterleaved = description.ropeInterleaved;
  }
  view = std::make_shared<ConfigView>(std::move(config), source.configFile, description.synonyms);
  view->setOrigins(std::move(origins));
  model.evaluator = std::make_shared<ParamEvaluator>(model.description, view, model.ropes);
  model.evaluator->ropeInterleaved = model.ropeInterleaved;

  const Json *classes = view->use("architectures", "match");
  const Json *type = view->use("model_type", "match");
  if (source.isGguf())
    model.architecture = source.gguf->architecture;
  else if (classes && classes->isArray() && !classes->items.empty() &&
           classes->items.front().isString())
    model.architecture = classes->items.front().text;
  else if (type && type->isString())
    model.architecture = type->text;
  else
    model.architecture = description.name;
  checkClass(classes, type);
  for (const std::string &pattern : description.irrelevantKeys)
    view->markIrrelevant(pattern);
  if (source.isGguf())
    for (const std::string &pattern : description.gguf->irrelevant)
      view->markIrrelevant(pattern);
  // How weights are stored is read from the checkpoint itself.
  view->markIrrelevant("dtype");
  view->markIrrelevant("torch_dtype");
}

/// One model_type has several classes: a reward model is no language model although every
/// other key agrees. The first class is what the published code makes of a model.
void Resolver::checkClass(const Json *classes, const Json *type) {
  bool isList = classes && classes->isArray() &&
                std::all_of(classes->items.begin(), classes->items.end(),
                            [](const Json &item) { return item.isString(); });
  if (type && !type->isNull() && !type->isString())
    problem(Problem::Kind::Invalid, view->describe("model_type") + " must be one text");
  if (classes && !classes->isNull() && !isList)
    problem(Problem::Kind::Invalid, view->describe("architectures") + " must be a list of texts");
  auto has = [](const std::vector<std::string> &list, const Json &item) {
    return item.isString() && std::find(list.begin(), list.end(), item.text) != list.end();
  };
  if (!isList || classes->items.empty() || description.architectures.empty() || !type ||
      !has(description.modelTypes, *type))
    return;
  if (has(description.architectures, classes->items.front()))
    return;
  std::string known;
  for (const std::string &name : description.architectures)
    known += (known.empty() ? "" : ", ") + name;
  problem(Problem::Kind::Unsupported, view->describe("architectures") +
                                          " is not a class that description '" + description.name +
                                          "' is for, which are: " + known);
}

void Resolver::checkRequirements() {
  for (const RequireDef &def : description.requires_) {
    const Json *value = view->use(def.key, "ledger.require");
    if (!value || std::find(def.allowed.begin(), def.allowed.end(), *value) != def.allowed.end())
      continue;
    std::string allowed;
    for (const Json &item : def.allowed)
      allowed += (allowed.empty() ? "" : ", ") + item.dump(40);
    problem(Problem::Kind::Unsupported,
            view->describe(def.key) + " is not supported by description '" + description.name +
                "', supported: " + allowed + " (" + def.location.position() + ")",
            true);
  }
}

void Resolver::runChecks() {
  for (const CheckDef &check : description.checks) {
    Value holds = model.evaluator->evaluateWith(*check.condition, {});
    if (!holds.is<bool>())
      expressionError(*check.condition, "a check must be true or false");
    if (!*holds.get<bool>())
      problem(Problem::Kind::Invalid, source.configFile + ": " + check.message + " (" +
                                          model.evaluator->keysText(*check.condition) + ")");
  }
}

void Resolver::checkQuantization() {
  for (const char *key : {"quantization_config", "compression_config"})
    view->use(key, "weight storage");
  if (!source.quantFault.empty())
    problem(Problem::Kind::Invalid, source.quantFault);
  if (!source.quantization)
    return;
  const QuantScheme &scheme = *source.quantization;
  for (const auto &[key, value] : scheme.unknownKeys)
    if (std::find(options.acceptKeys.begin(), options.acceptKeys.end(), key) ==
        options.acceptKeys.end())
      problem(Problem::Kind::Unknown,
              view->fileName() + ": key '" + key + "' = " + value +
                  " is not known for quant_method " + scheme.method +
                  (options.adviseAcceptKey
                       ? "; if you know that it changes no value of a weight, pass "
                         "--accept-key " +
                             key
                       : std::string()));
  if (!scheme.readable)
    problem(Problem::Kind::Unsupported,
            view->fileName() + ": weights are quantised by " + scheme.reason +
                ", which llmc cannot read yet; readable are fp8, compressed-tensors, modelopt, "
                "awq, gptq, mxfp4 and, from safetensors, " +
                readableNames(FileKind::Safetensors) + " and, from GGUF, " +
                readableNames(FileKind::Gguf),
            false);
  else
    model.notes.push_back(view->fileName() + ": weights are quantised by " + scheme.method +
                          "; their values are computed when they are read, activations and "
                          "caches stay as they are");
}

/// One id, a list of them, or null for none. What is no id would never end a text.
static std::vector<int64_t> idsOf(const Json *json, const std::string &file, const char *key) {
  std::vector<int64_t> ids;
  auto add = [&](const Json &item) {
    if (!item.isInt() || item.integer < 0)
      throw InputError(file + ":" + std::to_string(item.line) + ":" + std::to_string(item.column) +
                       ": key '" + key + "' = " + json->dump(60) +
                       " must be the id of a token, a list of ids, or null");
    ids.push_back(item.integer);
  };
  if (!json || json->isNull())
    return ids;
  if (!json->isArray())
    add(*json);
  for (const Json &item : json->isArray() ? json->items : std::vector<Json>())
    add(item);
  return ids;
}

void Resolver::readFacts() {
  std::map<std::string, Value> none;
  for (const auto &[fact, expr] : description.facts) {
    int64_t *target = fact == "context_length" ? &model.contextLength
                      : fact == "vocab_size"   ? &model.vocabSize
                      : fact == "hidden_size"  ? &model.hiddenSize
                                               : nullptr;
    Value value = model.evaluator->evaluateWith(*expr, none);
    if (!target || !value.is<int64_t>())
      expressionError(*expr, target ? "the fact '" + fact + "' must be an integer"
                                    : "'" + fact +
                                          "' is no fact; facts are context_length, "
                                          "vocab_size and hidden_size");
    *target = *value.get<int64_t>();
  }
  auto ofConfig = [&](const char *key) {
    return idsOf(view->use(key, "tokens"), view->fileName(), key);
  };
  auto ofGeneration = [&](const char *key) {
    return idsOf(source.generationConfig.find(key),
                 source.tokenizerFolder + "/generation_config.json", key);
  };
  model.bosIds = ofConfig("bos_token_id");
  model.eosIds = ofConfig("eos_token_id");
  view->use("pad_token_id", "tokens");
  // What generation uses goes before what training wrote.
  if (auto ids = ofGeneration("bos_token_id"); !ids.empty())
    model.bosIds = ids;
  // Publishers set the end of a turn in one file and the end of a text in another: each ends.
  std::vector<int64_t> configEnds = std::exchange(model.eosIds, ofGeneration("eos_token_id"));
  for (int64_t id : configEnds)
    if (std::find(model.eosIds.begin(), model.eosIds.end(), id) == model.eosIds.end())
      model.eosIds.push_back(id);
  if (source.isGguf()) {
    const GgufTokenizer &tokenizer = source.gguf->tokenizer;
    if (tokenizer.bosId)
      model.bosIds = {*tokenizer.bosId};
    model.eosIds.clear();
    for (const auto &id : {tokenizer.eosId, tokenizer.eotId, tokenizer.eomId})
      if (id && std::find(model.eosIds.begin(), model.eosIds.end(), *id) == model.eosIds.end())
        model.eosIds.push_back(*id);
  }
}

void Resolver::readParams() {
  for (const ParamDef &def : description.params)
    if (!def.isFunction && paramsRead.count(def.name))
      model.params[def.name] = model.evaluator->param(def);
}

void Resolver::readLayerCount() {
  if (!description.layerCount || !description.layerBlock || description.model.empty())
    throw InputError(description.file + ": a description needs 'layers' with count and block, "
                                        "and 'model'");
  Value count = model.evaluator->evaluateWith(*description.layerCount, {});
  const int64_t *number = count.get<int64_t>();
  // Bounded before anything loops over the layers.
  constexpr int64_t most = 10000;
  if (!number || *number < 1 || *number > most)
    throw InputError(source.configFile + ": " + model.evaluator->keysText(*description.layerCount) +
                     " gives " + count.toText() + " layers, it must be an integer from 1 to " +
                     std::to_string(most));
  layers = *number;
}

namespace {

/// Writes down everything a layer does, so that equal texts are equal layers.
class TraceHooks : public OpHooks {
public:
  TraceHooks(const ResolvedModel &model, int64_t layer) : model(model), layer(layer) {}

  std::vector<Value> op(const OpCall &call) override {
    text += call.path + ":" + call.name + "(";
    runsLayers |= call.name == "layers";
    for (size_t i = 0; i < call.args.size(); ++i) {
      // Names of instrumentation points may hold the layer's number.
      if (call.name == "observe" && i == 1)
        continue;
      take(call, call.args[i]);
    }
    for (const auto &[name, value] : call.named) {
      text += name + ":";
      take(call, value);
    }
    std::vector<Value> out;
    for (size_t i = 0; i < resultCount(call); ++i)
      out.push_back(make());
    text += ")\n";
    return out;
  }

  Value make() { return Handle{next++}; }

  std::string text;
  /// Families that an operation took.
  std::set<uint32_t> read;
  bool runsLayers = false;

private:
  void take(const OpCall &call, const Value &value) {
    add(value);
    const auto *weight = value.get<WeightRef>();
    if (!weight)
      return;
    read.insert(weight->family);
    if (addsBiases(call.name) && weight->biasFamily >= 0)
      read.insert(uint32_t(weight->biasFamily));
  }
  void add(const Value &value) {
    text += value.toText();
    if (const auto *weight = value.get<WeightRef>()) {
      addFormat(int32_t(weight->family));
      addFormat(weight->biasFamily);
    }
    text += ",";
  }
  void addFormat(int32_t family) {
    if (family < 0)
      return;
    const StorageFormat *format = model.families[size_t(family)].formatOf(layer);
    text += ":" + std::string(format ? format->name : "-");
  }

  const ResolvedModel &model;
  int64_t layer;
  uint64_t next = 0;
};

} // namespace

void Resolver::findKinds() {
  unreadIn.resize(model.families.size());
  std::map<std::string, uint32_t> byTrace;
  std::map<std::string, int> blockCount;
  for (int64_t layer = 0; layer < layers; ++layer) {
    TraceHooks hooks(model, layer);
    ValueList values;
    for (size_t i = 0; i < model.layerBlock(layer).formals.size(); ++i)
      values.push_back(hooks.make());
    hooks.text += "-> " + model.runLayer(layer, false, hooks, values).toText() + "\n";
    for (uint32_t f = 0; f < model.families.size(); ++f) {
      const std::vector<int64_t> &having = model.families[f].layers;
      if (!hooks.read.count(f) && std::binary_search(having.begin(), having.end(), layer))
        unreadIn[f].push_back(layer);
    }
    std::string name = model.layerBlock(layer).name;
    auto [it, isNew] = byTrace.try_emplace(name + "\n" + hooks.text, model.kinds.size());
    if (isNew) {
      int number = blockCount[name]++;
      model.kinds.push_back({number ? name + "_" + std::to_string(number) : name, name, {}});
    }
    model.kinds[it->second].layers.push_back(layer);
    model.schedule.push_back(it->second);
  }
}

void Resolver::checkUses() {
  TraceHooks hooks(model, 0);
  try {
    model.emitModel(hooks, *hooks.make().get<Handle>());
  } catch (const InputError &) {
    // Whoever runs the statements next reports it, with the operation at fault.
    return;
  }
  auto isRead = [&](uint32_t f) {
    return model.families[f].perLayer ? hooks.runsLayers && unreadIn[f].empty()
                                      : hooks.read.count(f) != 0;
  };
  // Whoever reads a tied weight reads the one it is tied to.
  std::set<uint32_t> byTies;
  for (uint32_t f = 0; f < model.families.size(); ++f)
    if (model.families[f].tiedTo >= 0 && isRead(f))
      byTies.insert(uint32_t(model.families[f].tiedTo));
  std::string roles;
  for (uint32_t f = 0; f < model.families.size(); ++f) {
    const WeightFamily &family = model.families[f];
    if (family.tiedTo >= 0 || isRead(f) || byTies.count(f))
      continue;
    model.tensorLedger.idleRoles.push_back(family.role);
    roles += (roles.empty() ? "'" : ", '") + family.role + "' (" + family.publishedName;
    size_t without = family.perLayer ? unreadIn[f].size() : 0;
    if (without && without < family.layers.size())
      roles += ", in " + std::to_string(without) + " of " + std::to_string(family.layers.size()) +
               " layers, such as layer " + std::to_string(unreadIn[f].front());
    roles += ")";
  }
  if (!roles.empty())
    problem(Problem::Kind::Invalid,
            description.file + ": weights are declared and read by no statement: " + roles +
                "; use them in the statements, set roles that the model does not have to null in "
                "\"tensors\" and in \"gguf.tensors\", or say by \"when\" which layers have them (a "
                "bias is only added by "
                "'linear', 'expert_linear' and 'causal_conv')");
  reportUnreadParams();
}

/// What another file declares and this one leaves aside is no mistake; only its keys do not count
/// as used.
void Resolver::reportUnreadParams() {
  for (const ParamDef &def : description.params)
    if (!paramsRead.count(def.name) && def.location.file == description.file)
      problem(Problem::Kind::Invalid,
              def.location.position() + ": parameter '" + def.name +
                  "' is declared and read by nothing: no statement that is run, no tensor, check, "
                  "fact or other parameter; use it or remove it");
}

void Resolver::finishConfigLedger() {
  view->endEvaluation();
  model.evaluator->markMentionedKeys(paramsRead);
  model.configLedger = view->finish(options.acceptKeys);
  if (source.quantization)
    for (const auto &[key, value] : source.quantization->unknownKeys)
      if (std::find(options.acceptKeys.begin(), options.acceptKeys.end(), key) !=
          options.acceptKeys.end())
        model.configLedger.accepted[key] = value;
  std::vector<std::string> known = model.evaluator->mentionedKeys();
  // An unknown key goes first: it may explain everything else.
  std::vector<Problem> tail = std::move(model.problems);
  model.problems.clear();
  size_t acceptable = 0, lastAcceptable = SIZE_MAX;
  std::string lastKey;
  for (const auto &[key, value] : model.configLedger.unknown) {
    if (const char *feature = featureOfKey(key)) {
      problem(Problem::Kind::Unknown, source.configFile + ": key '" + key + "' = " + value + ": " +
                                          feature + " is not implemented by description '" +
                                          description.name + "'");
      continue;
    }
    ++acceptable;
    lastAcceptable = model.problems.size();
    lastKey = key;
    std::vector<std::string> near;
    if (options.nearNames)
      near = nearWords(key.substr(key.rfind('.') + 1), known);
    std::string hint;
    for (const std::string &name : near)
      hint += (hint.empty() ? "; near names: " : ", ") + name;
    problem(Problem::Kind::Unknown, source.configFile + ": key '" + key + "' = " + value +
                                        " is not known to description '" + description.name + "'" +
                                        hint);
  }
  // Once, with the last of them.
  if (options.adviseAcceptKey && lastAcceptable < model.problems.size())
    model.problems[lastAcceptable].message +=
        (acceptable == 1
             ? "; if you know that it changes nothing that is computed, pass --accept-key "
             : "; for every key of which you know that it changes nothing that is computed, pass "
               "--accept-key KEY, such as --accept-key ") +
        lastKey;
  std::move(tail.begin(), tail.end(), std::back_inserter(model.problems));
}

void Resolver::runSteps() {
  paramsRead = parametersRead(description, {});
  readConfig();
  // Quantised or not, the parameters are the same.
  checkQuantization();
  // What is not supported goes first: it may be why a parameter has no value.
  checkRequirements();
  readRopeTensors();
  readParams();
  runChecks();
  readFacts();
  readLayerCount();
  choosePrefixes();
  chooseForms();
  buildFamilies();
  resolveTies();
  if (source.checkpoint)
    compareCheckpoint();
  findKinds();
  std::vector<std::string> blocks;
  for (const LayerKind &kind : model.kinds)
    blocks.push_back(kind.block);
  paramsRead = parametersRead(description, blocks);
  readParams();
  checkUses();
}

/// Keys that the steps after an error would have read are not unknown.
void Resolver::markKnownKeys() {
  for (const char *key : {"bos_token_id", "eos_token_id", "pad_token_id", "quantization_config"})
    view->use(key, "not reached");
  for (const RequireDef &def : description.requires_)
    view->use(def.key, "not reached");
  for (const ParamDef &def : description.params)
    model.evaluator->markMentionedKeys({def.name});
  for (const char *pattern : {"rope_theta", "rope_scaling.*", "rope_parameters.*"})
    view->markIrrelevant(pattern);
}

void Resolver::run() {
  if (!options.collect) {
    try {
      runSteps();
    } catch (const InputError &error) {
      std::string before;
      for (const Problem &problem : model.problems)
        if (problem.structural)
          before += problem.message + "\n";
      if (before.empty())
        throw;
      throw InputError(before + error.what());
    }
    finishConfigLedger();
    return;
  }
  bool ended = true;
  try {
    runSteps();
    ended = false;
  } catch (const UnsupportedError &error) {
    problem(Problem::Kind::Unsupported, error.what());
  } catch (const InputError &error) {
    problem(Problem::Kind::Invalid, error.what());
  }
  if (view && ended)
    markKnownKeys();
  // The keys have a ledger even where the model has none.
  if (view)
    finishConfigLedger();
}

std::shared_ptr<ResolvedModel>
ResolvedModel::resolve(std::shared_ptr<const ModelSource> source,
                       std::shared_ptr<const Description> description,
                       const ResolveOptions &options) {
  auto model = std::make_shared<ResolvedModel>();
  model->source = std::move(source);
  model->description = std::move(description);
  Resolver(*model, options).run();
  if (options.collect)
    return model;
  // What is merely unsupported in storage hinders weights, not structure: requireWeights.
  std::string message;
  size_t shown = 0, more = 0;
  for (const Problem &problem : model->problems) {
    if (!problem.structural)
      continue;
    if (++shown > 12)
      ++more;
    else
      message += (message.empty() ? "" : "\n") + problem.message;
  }
  if (more)
    message += "\n... and " + std::to_string(more) + " more";
  if (!message.empty())
    throw InputError(message);
  return model;
}

void ResolvedModel::requireWeights() const {
  for (const Problem &problem : problems)
    if (problem.kind == Problem::Kind::Unsupported || problem.structural)
      throw InputError(problem.message);
  if (!source->checkpoint)
    throw InputError(source->path + ": there are no weights here (no .safetensors or GGUF file); "
                                    "get the whole checkpoint, or compile with --weights=none");
  if (!source->checkpoint->hasData())
    throw InputError(source->path + ": the checkpoint is only described here, its data is "
                                    "absent; get the whole checkpoint, or compile with "
                                    "--weights=none");
}

std::vector<const WeightFamily *> ResolvedModel::familiesOf(const std::string &role) const {
  std::vector<const WeightFamily *> out;
  for (const WeightFamily &family : families)
    if (family.role == role)
      out.push_back(&family);
  return out;
}

} // namespace llmc::frontend
