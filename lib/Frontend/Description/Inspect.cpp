//===- Inspect.cpp - the report of one model ------------------------------===//
#include "llmc/Frontend/Inspect.h"

#include "ShapeHooks.h"
#include "llmc/Frontend/Infer.h"

#include <algorithm>
#include <filesystem>

namespace llmc::frontend {

const char *verdictName(InspectReport::Verdict verdict) {
  static constexpr const char *names[] = {"ready",   "composable", "inferred",
                                          "missing", "unknown",    "invalid"};
  return names[size_t(verdict)];
}

static void addParameters(InspectReport &report, const ResolvedModel &model) {
  for (const PublishedTensor &tensor : model.published) {
    if (!tensor.integer)
      report.parametersWithTied += tensor.elements();
    // A tied tensor is stored, and counted, once.
    if (tensor.tied)
      continue;
    if (!tensor.integer)
      report.parametersTotal += tensor.elements();
    report.tensors.push_back({tensor.name, tensor.shape, tensor.count});
  }
  for (const PublishedTensor &tensor : model.mtp)
    report.mtp.push_back({tensor.name, tensor.shape, tensor.count});
  // Less the experts that a token does not go to, see addState.
  report.parametersActive = report.parametersTotal;
}

static void addState(InspectReport &report, const ResolvedModel &model) {
  ShapeHooks hooks(model);
  model.emitModel(hooks, Handle{0});
  for (auto [index, chosen] : hooks.expertUses) {
    const WeightFamily &family = model.families[index];
    if (family.tiedTo >= 0 || family.shape.front() <= chosen)
      continue;
    int64_t expert = int64_t(*elementCount(family.shape)) / family.shape.front();
    report.parametersActive -= expert * (family.shape.front() - chosen) * family.count();
  }
  constexpr int64_t bf16Bytes = 2;
  for (const ShapeHooks::AttentionState &state : hooks.attention) {
    int64_t layers = int64_t(model.kinds[state.kind].layers.size());
    // Whole bytes: what is kept for a group of tokens is shared among them.
    int64_t bytes = (layers * state.elementsPerToken * bf16Bytes + state.tokensPerElement - 1) /
                    state.tokensPerElement;
    if (state.isIndex) {
      report.fullAttentionBytesPerTokenBf16 += bytes;
      continue;
    }
    // A window that the context cannot fill limits nothing.
    if (state.window == 0 || (model.contextLength && state.window >= model.contextLength)) {
      report.fullAttentionLayers += layers;
      report.fullAttentionBytesPerTokenBf16 += bytes;
      continue;
    }
    auto it = std::find_if(report.windows.begin(), report.windows.end(),
                           [&](const auto &window) { return window.window == state.window; });
    if (it == report.windows.end())
      it = report.windows.insert(it, {state.window, 0, 0});
    it->layers += layers;
    it->bytesPerTokenBf16 += bytes;
  }
  for (const ShapeHooks::RecurrentState &state : hooks.recurrent) {
    int64_t layers = int64_t(model.kinds[state.kind].layers.size());
    report.recurrentStateElements += layers * state.stateElements;
    report.recurrentConvElements += layers * state.convElements;
    report.recurrentBufferElements += layers * state.bufferElements;
  }
}

static void addKeys(InspectReport &report, const ConfigLedger &ledger) {
  for (const auto &entry : ledger.used)
    report.keysUsed.push_back(entry.first);
  report.keysIrrelevant.assign(ledger.irrelevant.begin(), ledger.irrelevant.end());
  for (const auto &entry : ledger.accepted)
    report.keysIrrelevant.push_back(entry.first);
  for (const auto &entry : ledger.unknown)
    report.keysUnknown.push_back(entry.first);
}

static void fill(InspectReport &report, const ResolvedModel &resolved) {
  std::vector<Problem> problems = resolved.problems;
  report.architecture = resolved.architecture;
  addKeys(report, resolved.configLedger);
  // A config that contradicts itself has no ledger, but every key still has its line.
  if (report.keysUsed.empty() && report.keysIrrelevant.empty() && report.keysUnknown.empty())
    for (const auto &member : resolved.source->config.members)
      report.keysUnknown.push_back(member.first);
  addParameters(report, resolved);
  if (resolved.isComplete()) {
    try {
      addState(report, resolved);
    } catch (const UnsupportedError &error) {
      problems.push_back({Problem::Kind::Unsupported, error.what()});
    } catch (const InputError &error) {
      problems.push_back({Problem::Kind::Invalid, error.what()});
    }
  }
  using Verdict = InspectReport::Verdict;
  report.verdict = Verdict::Ready;
  auto raise = [&](Verdict verdict) { report.verdict = std::max(report.verdict, verdict); };
  for (const Problem &problem : problems) {
    report.reasons.push_back(problem.message);
    switch (problem.kind) {
    case Problem::Kind::Unknown:
      raise(Verdict::Unknown);
      break;
    case Problem::Kind::Unsupported:
      raise(Verdict::Missing);
      break;
    case Problem::Kind::Invalid:
      raise(Verdict::Invalid);
      break;
    }
  }
}

static std::string identity(const ModelSource &source) {
  if (source.isGguf())
    return "general.architecture '" + source.gguf->architecture + "'";
  auto shown = [&](const char *key, bool mayBeList) {
    const Json *value = source.config.find(key);
    if (!value)
      return std::string("(absent)");
    bool right = value->isString() || (mayBeList && value->isArray());
    for (const Json &item : value->items)
      right = right && item.isString();
    return value->dump(80) + (right       ? ""
                              : mayBeList ? " (which is no list of texts)"
                                          : std::string(" (") + value->kindName() + ", no text)");
  };
  return "model_type " + shown("model_type", false) + " or architectures " +
         shown("architectures", true);
}

static const char advice[] = "write a description with `extends` and `match` and pass "
                             "--description FILE (docs/DayZero.md)";

static const char ggufAdvice[] =
    "nothing is inferred for a GGUF file: its names are the same for all architectures, and whether "
    "the rows of its query and key matrices were put into another order when it was written, which "
    "decides the pairing of rotary embeddings, neither a key nor a tensor shows; the published "
    "config.json and its headers can be inferred from";

/// What is said of a description that marks itself as inferred.
static std::string markText(const Description &description) {
  return description.inferredAt + ": '" + description.name +
         "' is marked `inferred`, so nothing that it says is proved: compare it with the published "
         "implementation (docs/DayZero.md), then remove the mark";
}

static void listAssumed(InspectReport &report, const ModelSource &source) {
  if (source.checkpoint || report.tensors.empty())
    return;
  report.assumedTensors = report.tensors;
  report.reasons.push_back("assumed: the names and shapes of all " +
                           std::to_string(report.tensors.size()) +
                           " tensors listed, since there are no headers");
}

/// What is said of a model that nothing matches: what was inferred from what, or what is not
/// understood.
static std::vector<std::string> inferenceReasons(const ModelSource &source,
                                                 const Inference &inference,
                                                 DescriptionSet &descriptions) {
  std::vector<std::string> reasons;
  std::string first = source.path + ": no description matches " + identity(source);
  if (!inference.model) {
    reasons.push_back(first + "; there are no descriptions to compare it with");
    reasons.push_back(advice);
    return reasons;
  }
  if (inference.found()) {
    reasons.push_back(first + "; inferred from " + inference.sources() + ", not proved");
    for (const InferredPart &part : inference.parts) {
      std::string explains, entries;
      for (const std::string &thing : part.explains)
        explains += (explains.empty() ? "" : ", ") + thing;
      for (const std::string &entry : part.entries)
        entries += (entries.empty() ? "" : ", ") + entry;
      reasons.push_back("from '" + part.donor + "': " + entries +
                        (explains.empty() ? "" : ", for " + explains));
    }
    for (const std::string &assumption : inference.assumptions)
      reasons.push_back("assumed: " + assumption);
  } else {
    reasons.push_back(first + "; the nearest is '" + inference.base + "'" +
                      (inference.model->problems.empty()
                           ? ", from which nothing differs that is written in the config or the "
                             "tensors"
                           : ", which differs as follows"));
  }
  for (const std::string &misfit : descriptions.userMisfits(source))
    reasons.push_back(misfit);
  if (!inference.found()) {
    if (source.isGguf())
      reasons.push_back(ggufAdvice);
    for (const Problem &problem : inference.model->problems)
      reasons.push_back(problem.message);
    // A key that is not known has one reason, the one with near names.
    auto isSaid = [&](const std::string &thing) {
      constexpr std::string_view begin = "key '";
      size_t end = thing.starts_with(begin) ? thing.find('\'', begin.size()) : std::string::npos;
      return end != std::string::npos &&
             std::any_of(reasons.begin(), reasons.end(), [&](const std::string &reason) {
               return reason.find(thing.substr(0, end + 1)) != std::string::npos;
             });
    };
    for (const std::string &thing : inference.unexplained)
      if (!isSaid(thing))
        reasons.push_back(thing);
  }
  reasons.push_back(advice);
  return reasons;
}

InspectReport inspectModel(std::shared_ptr<const ModelSource> source, DescriptionSet &descriptions,
                           const InspectOptions &options) {
  InspectReport report;
  report.target = options.target;
  std::shared_ptr<const Description> description = descriptions.match(*source);
  if (!description) {
    Inference inference = inferDescription(source, descriptions, options.acceptKeys);
    if (inference.model) {
      fill(report, *inference.model);
      report.description = inference.baseFile;
      report.asIf = inference.base;
    } else {
      for (const auto &member : source->config.members)
        report.keysUnknown.push_back(member.first);
    }
    report.verdict = inference.found() ? InspectReport::Verdict::Inferred
                                       : InspectReport::Verdict::Unknown;
    report.reasons = inferenceReasons(*source, inference, descriptions);
    if (inference.found())
      listAssumed(report, *source);
    return report;
  }
  report.description = description->file;
  ResolveOptions resolve;
  resolve.collect = true;
  resolve.acceptKeys = options.acceptKeys;
  fill(report, *ResolvedModel::resolve(source, description, resolve));
  if (std::string note = DescriptionSet::typeNote(*source, *description); !note.empty())
    report.reasons.push_back(std::move(note));
  if (!description->inferredAt.empty()) {
    report.verdict = std::max(report.verdict, InspectReport::Verdict::Inferred);
    report.reasons.push_back(markText(*description));
    listAssumed(report, *source);
  }
  report.notes = descriptions.unusedFiles(*source, *description);
  return report;
}

std::shared_ptr<ResolvedModel> loadModel(const std::string &path, DescriptionSet &descriptions,
                                         const ResolveOptions &options) {
  return loadModel(std::make_shared<const ModelSource>(ModelSource::open(path)), descriptions,
                   options);
}

std::shared_ptr<ResolvedModel> loadModel(std::shared_ptr<const ModelSource> source,
                                         DescriptionSet &descriptions,
                                         const ResolveOptions &options) {
  std::shared_ptr<const Description> description = descriptions.match(*source);
  if (description) {
    auto model = ResolvedModel::resolve(source, description, options);
    model->unused = descriptions.unusedFiles(*source, *description);
    if (std::string note = DescriptionSet::typeNote(*source, *description); !note.empty())
      model->notes.push_back(std::move(note));
    if (!description->inferredAt.empty()) {
      model->inferredFrom = "'" + description->name + "'";
      model->notes.push_back(markText(*description));
    }
    return model;
  }
  Inference inference = inferDescription(source, descriptions, options.acceptKeys);
  // A file of the user's own that matches nothing was meant for something: no guess in its place.
  if (inference.found() && descriptions.userMisfits(*source).empty()) {
    auto model = ResolvedModel::resolve(source, inference.description, options);
    model->inferredFrom = inference.sources();
    model->notes.push_back("no description matches " + identity(*source) + "; inferred from " +
                           inference.sources() + ", not proved: compare it with the published "
                           "implementation (llmc inspect says what was assumed)");
    return model;
  }
  std::string message;
  std::vector<std::string> reasons = inferenceReasons(*source, inference, descriptions);
  // The advice at the end stands however many there are.
  for (size_t i = 0; i < reasons.size(); ++i)
    if (i < 10 || i + 1 == reasons.size())
      message += (i ? "\n" : "") + reasons[i];
  throw InputError(message);
}

} // namespace llmc::frontend
