//===- NewDescription.cpp - the beginning of a description ----------------===//
#include "llmc/Frontend/NewDescription.h"

#include "llmc/Frontend/Infer.h"
#include "llmc/Support/Error.h"

#include <algorithm>
#include <filesystem>

namespace llmc::frontend {

static std::vector<std::string> textsOf(const Json *json) {
  std::vector<std::string> out;
  if (json && json->isString())
    out.push_back(json->text);
  if (json)
    for (const Json &item : json->items)
      if (item.isString())
        out.push_back(item.text);
  return out;
}

static void identify(NewDescription &out, const ModelSource &source) {
  if (source.isGguf()) {
    out.modelTypes.push_back(source.gguf->architecture);
    return;
  }
  out.modelTypes = textsOf(source.config.find("model_type"));
  out.architectures = textsOf(source.config.find("architectures"));
  if (!out.modelTypes.empty() || !out.architectures.empty())
    return;
  std::string wrong;
  for (const char *key : {"model_type", "architectures"})
    if (const Json *value = source.config.find(key))
      wrong += std::string(wrong.empty() ? "" : " and ") + "'" + key + "' is " + value->dump(40) +
               ", " + value->kindName();
  throw InputError(source.configFile + ": " +
                   (wrong.empty() ? "has neither 'model_type' nor 'architectures'"
                                  : wrong + ", where the name of the architecture is wanted") +
                   ", so a description would have nothing to match; write a text there");
}

NewDescription beginDescription(std::shared_ptr<const ModelSource> source,
                                DescriptionSet &descriptions,
                                const NewDescriptionOptions &options) {
  NewDescription out;
  out.model = source->path;
  identify(out, *source);
  if (std::shared_ptr<const Description> known = descriptions.match(*source)) {
    if (!options.force)
      throw InputError(source->path + ": is described already, by " + known->file +
                       "; `llmc inspect` says what of it fits, and --force begins a description "
                       "that extends it");
    out.base = known->name;
    ResolveOptions resolve;
    resolve.collect = true;
    resolve.adviseAcceptKey = false;
    resolve.acceptKeys = options.acceptKeys;
    auto model = ResolvedModel::resolve(source, known, resolve);
    for (const auto &unknown : model->configLedger.unknown)
      out.keys.push_back(unknown);
    for (const Problem &problem : model->problems)
      if (problem.message.find(": key '") == std::string::npos)
        out.faults.push_back(problem.message);
    return out;
  }
  Inference inference = inferDescription(source, descriptions, options.acceptKeys);
  if (!inference.model)
    throw InputError(source->path + ": there are no descriptions to begin with");
  out.base = inference.base;
  if (inference.found()) {
    out.entries = inference.text;
    for (const InferredPart &part : inference.parts) {
      std::string entries;
      for (const std::string &entry : part.entries)
        entries += (entries.empty() ? "" : ", ") + entry;
      out.assumptions.push_back("as in '" + part.donor + "': " + entries);
    }
    for (const std::string &assumption : inference.assumptions)
      out.assumptions.push_back(assumption);
  } else {
    for (const auto &unknown : inference.model->configLedger.unknown)
      out.keys.push_back(unknown);
    for (const Problem &problem : inference.model->problems)
      if (problem.message.find(": key '") == std::string::npos)
        out.faults.push_back(problem.message);
    out.assumptions.push_back("blocks, norms, activations and the pairing of rotary embeddings are "
                              "those of '" + out.base + "': no key and no tensor shows them");
  }
  if (!source->checkpoint && inference.model->isComplete()) {
    std::string names;
    for (const PublishedTensor &tensor : inference.model->published)
      names += (names.empty() ? "" : ", ") + tensor.name;
    out.assumptions.push_back("the names and shapes of tensors, since there were no headers: " +
                              names);
  }
  out.assumptions.push_back("keys that the config leaves out mean the defaults of '" + out.base +
                            "', which may not be those of the published class");
  return out;
}

static std::string listOf(const std::vector<std::string> &names) {
  std::string out;
  for (const std::string &name : names)
    out += (out.empty() ? "" : ", ") + quoteJson(name);
  return "[" + out + "]";
}

/// A comment of lines of at most 100 columns.
static std::string comment(const std::string &text, const std::string &indent) {
  std::string out, line;
  size_t at = 0;
  auto flush = [&] {
    if (!line.empty())
      out += indent + "//" + line + "\n";
    line.clear();
  };
  while (at < text.size()) {
    size_t end = std::min(text.find_first_of(" \n", at), text.size());
    std::string word = text.substr(at, end - at);
    // Control characters of a model's texts end no comment.
    std::replace_if(word.begin(), word.end(), [](unsigned char c) { return c < 32; }, '?');
    if (!line.empty() && indent.size() + 2 + line.size() + 1 + word.size() > 100)
      flush();
    if (!word.empty())
      line += " " + word;
    at = end + 1;
  }
  flush();
  return out;
}

std::string NewDescription::text() const {
  std::string out = comment("Begun by `llmc new` for " + model + ", on '" + base + "'. " +
                                (complete() ? "Everything that its config and tensors say has a "
                                              "meaning; nothing is proved yet."
                                            : "Each TODO is something that '" + base +
                                                  "' has no meaning for."),
                            "");
  for (const std::string &assumption : assumptions)
    out += comment("ASSUMED: " + assumption + ".", "");
  const Json *bases = entries.isObject() ? entries.find("extends") : nullptr;
  out += "{\n  \"about\": \"as " + base +
         "\",\n  // Until this line is removed, every command says `inferred`. Remove it when the numbers "
         "are\n  // those of the published code.\n  \"inferred\": true,\n  \"extends\": " +
         (bases ? bases->dump() : quoteJson(base)) + ",\n  \"match\": {";
  if (!modelTypes.empty())
    out += " \"model_type\": " + listOf(modelTypes);
  if (!architectures.empty())
    out += std::string(modelTypes.empty() ? "" : ",") +
           " \"architectures\": " + listOf(architectures);
  out += " },\n";
  if (entries.isObject())
    for (const auto &[name, value] : entries.members)
      if (name != "extends" && name != "match" && name != "about" && name != "inferred" &&
          name != "params" &&
          name != "tensors" && name != "ledger")
        out += "  " + quoteJson(name) + ": " + value.dump() + ",\n";
  auto section = [&](const char *name, const std::string &comments) {
    const Json *given = entries.isObject() ? entries.find(name) : nullptr;
    if (comments.empty() && !given)
      return;
    if (given && !given->isObject()) {
      out += std::string("  ") + quoteJson(name) + ": " + given->dump() + ",\n" + comments;
      return;
    }
    out += std::string("  ") + quoteJson(name) + ": {\n";
    if (given)
      for (const auto &[entry, value] : given->members)
        out += "    " + quoteJson(entry) + ": " + value.dump() + ",\n";
    out += comments + "  },\n";
  };
  std::string params, tensors;
  for (const auto &[key, value] : keys)
    params += comment("TODO config key '" + key + "'" + (value.empty() ? "" : " = " + value) +
                          ": what does the published code compute with it? A parameter that a "
                          "statement, shape or check reads, such as \"name\": [\"default(" + key +
                          ", VALUE)\", \"TYPE\"]; or ledger.irrelevant, where it changes nothing; "
                          "or ledger.require, where one value alone is right.",
                      "    ");
  for (const std::string &fault : faults)
    tensors += comment("TODO " + fault, "    ");
  section("params", params);
  section("tensors", tensors);
  section("ledger", "");
  return out + "}\n";
}

std::string NewDescription::testText(const std::string &file) const {
  std::string name = std::filesystem::path(file).filename().string();
  std::string type = modelTypes.empty() ? architectures.front() : modelTypes.front();
  std::string testName = std::filesystem::path(name).replace_extension(".test").string();
  std::string quoted = "'%S/" + name + "'";
  // A model's own texts do not become commands.
  std::replace_if(type.begin(), type.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return "What proves " + name + ". As it stands: a twin resolves, compiles and is computed alike "
         "by the CPU and\nthe evaluator. That says nothing of the published code, which REFERENCE "
         "below is for. The last command\nfails until \"inferred\" is removed from " + name + ".\n\n"
         "It runs in the tree of llmc: put both files into a folder of test, such as "
         "test/Integration, write down\nwhere the model is, and run it by the folder of the build, "
         "lit-22 -v BUILD/test/Integration/" + testName + ".\n\n"
         "DEFINE: %{model} = 'PATH OF config.json'\n"
         "DEFINE: %{description} = --description " + quoted + "\n\n"
         "RUN: rm -rf %t && mkdir -p %t\n"
         "RUN: llmc twin %{model} %{description} -o %t/twin\n"
         "RUN: %python %source_dir/utils/traces.py ids %t/ids.safetensors 3 17 5 41 9 9 0 28 14 1 50 33\n"
         "RUN: llmc trace %t/twin %{description} --device evaluator --inputs %t/ids.safetensors "
         "--greedy 4 -o %t/evaluator.safetensors\n"
         "RUN: llmc-opt %t/twin %{description} --target=cpu -o %t/artifact\n"
         "RUN: llmc trace %t/artifact --inputs %t/ids.safetensors --greedy 4 -o "
         "%t/cpu.safetensors\n"
         "RUN: %python %source_dir/utils/traces.py compare %t/evaluator.safetensors %t/cpu.safetensors "
         "--tolerance 1e-4\n"
         "RUN: llmc inspect %{model} %{description}\n\n"
         "REFERENCE (once the published code is at hand): run it on the twin's folder, in f64, "
         "with the tokens of\nids.safetensors, and store its values as hidden.0, hidden.1, ..., "
         "final_norm and logits [tokens, vocabulary] in\n" + type +
         ".safetensors; a case of utils/make_family_references.py does that for classes of "
         "transformers. Then:\n\n"
         "  llmc trace %t/twin %{description} --device evaluator --inputs %t/ids.safetensors -o "
         "%t/evaluator.safetensors\n"
         "  %python %source_dir/utils/traces.py compare " + type + ".safetensors %t/evaluator.safetensors --tolerance "
         "1e-4\n\n"
         "Add both to the commands of the test. The first tensor that differs names the "
         "layer, and its parts the\noperation.\n";
}

std::string NewDescription::toJson(const std::string &file, const std::string &test) const {
  std::string todo;
  for (const auto &[key, value] : keys)
    todo += std::string(todo.empty() ? "" : ",") + "\n    {\"key\": " + quoteJson(key) +
            ", \"value\": " + (value.empty() ? "null" : quoteJson(value)) + "}";
  for (const std::string &fault : faults)
    todo += std::string(todo.empty() ? "" : ",") + "\n    {\"fault\": " + quoteJson(fault) + "}";
  return "{\n  \"model\": " + quoteJson(model) + ",\n  \"extends\": " + quoteJson(base) +
         ",\n  \"model_type\": " + listOf(modelTypes) + ",\n  \"architectures\": " +
         listOf(architectures) + ",\n  \"file\": " + quoteJson(file) + ",\n  \"test\": " +
         quoteJson(test) + ",\n  \"complete\": " + (complete() ? "true" : "false") +
         ",\n  \"assumptions\": " + listOf(assumptions) + ",\n  \"todo\": [" + todo +
         (todo.empty() ? "" : "\n  ") + "]\n}\n";
}

} // namespace llmc::frontend
