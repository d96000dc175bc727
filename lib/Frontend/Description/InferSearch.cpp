//===- InferSearch.cpp - the search for a description that explains all ---===//
#include "InferSearch.h"
#include "Likeness.h"
#include "Merge.h"
#include "ShapeHooks.h"
#include "llmc/Frontend/Infer.h"
#include "llmc/Support/Error.h"

#include <algorithm>

namespace llmc::frontend {

double Leftovers::score() const {
  double things = double(keys.size() + unread.size() + missing.size() + misshapen.size());
  return (complete ? 0 : 3000) + 10 * things + 4 * double(idleRoles.size()) + 6 * double(faults) +
         0.5 * double(withoutEffect);
}

std::string Inference::sources() const {
  std::string text = "'" + base + "'";
  for (const InferredPart &part : parts)
    text += ", '" + part.donor + "'";
  return text;
}

namespace {

/// Writes down the operations of a model with what decides their meaning.
class ProgramText : public OpHooks {
public:
  explicit ProgramText(const ResolvedModel &model) : model(model) {}

  std::vector<Value> op(const OpCall &call) override {
    text += call.name + "(";
    if (call.name == "layers") {
      carried = call.args.size() + stepValues(call).size();
    }
    for (const Value &value : call.args)
      add(value);
    for (const auto &[name, value] : call.named) {
      text += name + ":";
      add(value);
    }
    text += ")\n";
    std::vector<Value> out;
    for (size_t i = 0; i < resultCount(call); ++i)
      out.push_back(Handle{next++});
    return out;
  }

  std::string text;
  size_t carried = 1;

private:
  void add(const Value &value) {
    if (const auto *weight = value.get<WeightRef>())
      text += model.families[weight->family].publishedName;
    else if (const auto *rope = value.get<RopeRef>())
      addRope(model.ropes[rope->index]);
    else
      text += value.toText();
    text += ",";
  }
  void addRope(const RopeRecord &rope) {
    text += std::to_string(rope.dim) + (rope.interleaved ? " neighbours " : " halves ");
    text += std::to_string(rope.theta);
  }

  const ResolvedModel &model;
  uint64_t next = 100;
};

class Inferrer {
public:
  Inferrer(std::shared_ptr<const ModelSource> source, DescriptionSet &set,
           const std::vector<std::string> &acceptKeys)
      : source(std::move(source)), known(set), acceptKeys(acceptKeys),
        facts(factsOf(*this->source)) {
    Similarity similarity(known, facts);
    for (const KnownDescription &one : known.all)
      likeness.push_back(similarity(one));
    for (size_t i = 0; i < known.all.size(); ++i)
      order.push_back(i);
    std::sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) {
                return likeness[a] != likeness[b] ? likeness[a] > likeness[b] : a < b;
              });
    // Large checkpoints take longer for each look.
    size_t tensors = this->source->checkpoint ? this->source->checkpoint->tensors().size() : 0;
    budget = std::max<size_t>(40, 400 / (1 + tensors / 1500));
  }

  Inference run() {
    Inference out;
    if (known.all.empty())
      return out;
    std::vector<InferState> bases;
    constexpr size_t looked = 14, climbed = 4;
    for (size_t i = 0; i < order.size() && bases.size() < looked; ++i)
      bases.push_back(resolved(order[i], {}));
    // A description that cannot be resolved at all is a poor base.
    std::sort(bases.begin(), bases.end(), [&](const InferState &a, const InferState &b) {
      return rank(a) != rank(b) ? rank(a) > rank(b) : a.base < b.base;
    });
    if (!source->isGguf()) {
      size_t share = budget / climbed, climbs = 0;
      std::vector<InferState> ends;
      for (const InferState &start : bases) {
        bool fits = start.left.none();
        if (!fits && climbs >= climbed)
          continue;
        climbs += !fits;
        limit = evaluations + share;
        InferState end = fits ? start : climb(start);
        if (end.left.none())
          ends.push_back(std::move(end));
      }
      if (!ends.empty())
        return result(ends);
    }
    return refusal(bases.front());
  }

private:
  double rank(const InferState &state) const {
    return likeness[state.base] - (state.left.complete ? 0 : 0.3) - 0.002 * state.left.score() -
           0.01 * double(state.overlay.size());
  }

  InferState resolved(size_t base, Overlay overlay) {
    ++evaluations;
    InferState state;
    state.base = base;
    state.overlay = std::move(overlay);
    const KnownDescription &one = known.all[base];
    try {
      Json json = one.json;
      mergeJson(json, overlayText(state.overlay), "");
      // The names in GGUF files are those of the base's roles.
      if (!state.overlay.empty() && !source->isGguf())
        json.set("gguf", Json());
      std::vector<std::string> files = known.files;
      files.push_back(state.overlay.empty() ? one.file
                                            : "the description inferred from '" + one.name + "'");
      state.description =
          std::make_shared<Description>(parseDescription(json, one.name, files));
      ResolveOptions options;
      options.collect = true;
      options.acceptKeys = acceptKeys;
      options.adviseAcceptKey = false;
      options.nearNames = false;
      state.model = ResolvedModel::resolve(source, state.description, options);
      judge(state);
    } catch (const InputError &error) {
      state.left.faults += 100;
      quotedWords(error.what(), state.left.faultWords);
    }
    return state;
  }

  static void quotedWords(const std::string &text, std::set<std::string> &words) {
    for (size_t at = 0; (at = text.find('\'', at)) != std::string::npos;) {
      size_t end = text.find('\'', at + 1);
      if (end == std::string::npos)
        break;
      std::string word = text.substr(at + 1, end - at - 1);
      if (!word.empty() && word.size() < 64 && word.find(' ') == std::string::npos)
        words.insert(word);
      at = end + 1;
    }
  }

  void judge(InferState &state) const {
    Leftovers &left = state.left;
    const ResolvedModel &model = *state.model;
    left.complete = model.isComplete();
    for (const auto &entry : model.configLedger.unknown)
      left.keys.insert(bareKey(entry.first));
    for (const auto &entry : model.configLedger.used)
      if (!model.configLedger.evaluated.count(entry.first))
        ++left.withoutEffect;
    const TensorLedger &tensors = model.tensorLedger;
    auto templates = [](const std::vector<std::string> &names, std::set<std::string> &out) {
      for (const std::string &name : names)
        out.insert(templateOf(name));
    };
    templates(tensors.missing, left.missing);
    templates(tensors.unread, left.unread);
    templates(tensors.misshapen, left.misshapen);
    left.idleRoles.insert(tensors.idleRoles.begin(), tensors.idleRoles.end());
    constexpr size_t listed = 8;
    size_t explained = std::min(tensors.missing.size(), listed) +
                       (tensors.missing.size() > listed) + tensors.misshapen.size() +
                       !tensors.idleRoles.empty();
    size_t faults = 0;
    for (const Problem &problem : model.problems) {
      if (problem.kind == Problem::Kind::Unknown || !problem.structural)
        continue;
      ++faults;
      if (!problem.message.starts_with(model.description->file))
        quotedWords(problem.message, left.faultWords);
    }
    left.faults = faults > explained ? faults - explained : 0;
    if (left.none()) {
      try {
        ShapeHooks hooks(model);
        model.emitModel(hooks, Handle{0});
      } catch (const InputError &) {
        ++left.faults;
      }
    }
    if (!left.complete)
      for (const std::string &name : facts.templates)
        if (!known.all[state.base].tensors.count(tailOf(name)))
          left.unread.insert(name);
  }

  bool better(const InferState &a, const InferState &b) const {
    double x = a.left.score(), y = b.left.score();
    if (x != y)
      return x < y;
    return a.overlay.size() < b.overlay.size();
  }

  InferState climb(InferState state) {
    for (size_t step = 0; step < 16 && state.left.score() >= 1 && evaluations < limit; ++step) {
      std::optional<InferState> best = bestMove(state);
      if (!best || best->left.score() >= state.left.score())
        break;
      minimise(*best, state);
      state = std::move(*best);
    }
    return state;
  }

  std::optional<InferState> bestMove(const InferState &state) {
    std::vector<Want> wants = wantsOf(state.left);
    std::optional<InferState> best;
    std::set<std::string> tried;
    auto attempt = [&](size_t donor, const std::vector<Want> &some) {
      if (evaluations >= limit)
        return;
      for (Reach reach : {Reach::Statement, Reach::Readers, Reach::Block}) {
        Bundle bundle = bundleOf(known, state, known.all[donor], some, reach);
        if (bundle.overlay.empty() || !tried.insert(overlayText(bundle.overlay).dump()).second)
          continue;
        InferState next = moved(state, bundle, donor);
        if (std::optional<InferState> mended = withoutLosses(state, next, bundle, donor))
          next = std::move(*mended);
        if (!best || better(next, *best))
          best = std::move(next);
      }
    };
    if (std::optional<Overlay> renamed = otherPrefix(state)) {
      InferState next = moved(state, {*renamed, {}}, state.base);
      if (next.left.score() < state.left.score())
        return next;
    }
    constexpr size_t jointDonors = 8, singleDonors = 4;
    size_t donors = 0;
    for (size_t donor : order) {
      std::vector<Want> some;
      size_t direct = 0;
      for (const Want &want : wants)
        if (hasMeaning(known.all[donor], want)) {
          some.push_back(want);
          direct += want.kind == Want::Kind::Key || want.kind == Want::Kind::Unread;
        }
      if (donor == state.base || some.empty())
        continue;
      if (direct == 0 && (!state.left.keys.empty() || !state.left.unread.empty()))
        continue;
      attempt(donor, some);
      if (++donors >= jointDonors)
        break;
    }
    for (const Want &want : wants) {
      size_t singles = 0;
      for (size_t donor : order) {
        if (donor == state.base || !hasMeaning(known.all[donor], want))
          continue;
        attempt(donor, {want});
        if (++singles >= singleDonors)
          break;
      }
    }
    return best;
  }

  InferState moved(const InferState &state, const Bundle &bundle, size_t donor) {
    Overlay overlay = state.overlay;
    for (const auto &[key, entry] : bundle.overlay)
      overlay[key] = entry;
    InferState next = resolved(state.base, std::move(overlay));
    next.donors = state.donors;
    next.kept = state.kept;
    for (const auto &item : bundle.overlay)
      next.donors[item.first] = donor;
    next.kept.insert(bundle.companions.begin(), bundle.companions.end());
    return next;
  }

  /// A bundle whose parameters read other keys than those in their places, so that keys lose their
  /// meaning, without these parameters; null where it is not like that, or no better.
  std::optional<InferState> withoutLosses(const InferState &state, const InferState &next,
                                          Bundle bundle, size_t donor) {
    std::set<std::string> lost;
    for (const std::string &key : next.left.keys)
      if (!state.left.keys.count(key))
        lost.insert(key.substr(key.rfind('.') + 1));
    if (lost.empty())
      return std::nullopt;
    size_t erased = std::erase_if(bundle.overlay, [&](const auto &item) {
      auto it = state.overlay.find(item.first);
      const Entry *mine = it == state.overlay.end() ? known.all[state.base].find(item.first)
                          : it->second              ? &*it->second
                                                    : nullptr;
      return mine && item.first.section == "params" &&
             std::any_of(lost.begin(), lost.end(),
                         [&](const std::string &key) { return mine->reads.count(key) != 0; });
    });
    if (erased == 0 || bundle.overlay.empty())
      return std::nullopt;
    InferState mended = moved(state, bundle, donor);
    if (!better(mended, next))
      return std::nullopt;
    return mended;
  }

  /// The names of the checkpoint begin otherwise than those of the description: what stands before
  /// the same tails is replaced.
  std::optional<Overlay> otherPrefix(const InferState &state) const {
    if (state.overlay.count({"prefixes", ""}) || facts.templates.empty())
      return std::nullopt;
    std::map<std::pair<std::string, std::string>, size_t> pairs;
    for (const auto &[key, entry] : known.all[state.base].entries) {
      if (!key.section.starts_with("tensors") || facts.templates.count(entry.tensor))
        continue;
      for (const std::string &name : facts.templates)
        if (tailOf(name) == tailOf(entry.tensor) && name != entry.tensor)
          ++pairs[beginnings(entry.tensor, name)];
    }
    Json alternative = Json::makeObject();
    std::map<std::string, std::pair<size_t, std::string>> chosen;
    for (const auto &[pair, count] : pairs)
      if (!pair.first.empty() && count > chosen[pair.first].first)
        chosen[pair.first] = {count, pair.second};
    for (const auto &[from, to] : chosen)
      alternative.set(from, Json::makeString(to.second));
    if (alternative.members.empty())
      return std::nullopt;
    Entry entry;
    entry.head = "prefixes";
    entry.value = Json::makeArray();
    entry.value.items.push_back(std::move(alternative));
    return Overlay{{{"prefixes", ""}, std::move(entry)}};
  }
  /// "model.layers.x" and "model.language_model.layers.x" -> "model." and "model.language_model.".
  static std::pair<std::string, std::string> beginnings(const std::string &a,
                                                        const std::string &b) {
    size_t same = 0;
    while (same < a.size() && same < b.size() && a[a.size() - 1 - same] == b[b.size() - 1 - same])
      ++same;
    std::string from = a.substr(0, a.size() - same), to = b.substr(0, b.size() - same);
    // A whole first word of the shorter name.
    size_t dot = a.find('.');
    if (dot == std::string::npos)
      return {};
    std::string word = a.substr(0, dot + 1);
    if (from.size() > word.size() || !b.ends_with(a.substr(word.size())))
      return {};
    return {word, b.substr(0, b.size() - (a.size() - word.size()))};
  }

  /// What of the last move is not needed stays as it was.
  void minimise(InferState &state, const InferState &before) {
    std::vector<EntryKey> added;
    for (const auto &[key, donor] : state.donors) {
      auto it = before.donors.find(key);
      if (it == before.donors.end() || it->second != donor)
        added.push_back(key);
    }
    if (added.size() < 2)
      return;
    for (const EntryKey &key : added) {
      if (evaluations >= limit + 60)
        return;
      if (state.kept.count(key))
        continue;
      Overlay overlay = state.overlay;
      auto earlier = before.overlay.find(key);
      if (earlier == before.overlay.end())
        overlay.erase(key);
      else
        overlay[key] = earlier->second;
      InferState next = resolved(state.base, std::move(overlay));
      if (next.left.score() > state.left.score())
        continue;
      next.donors = state.donors;
      if (auto it = before.donors.find(key); it != before.donors.end())
        next.donors[key] = it->second;
      else
        next.donors.erase(key);
      next.kept = state.kept;
      state = std::move(next);
    }
  }

  /// Of several that explain everything: what most of the near ones agree on.
  Inference result(const std::vector<InferState> &ends) {
    std::vector<std::string> programs;
    for (const InferState &end : ends)
      programs.push_back(programOf(*end.model));
    double bestRank = -HUGE_VAL;
    size_t chosen = 0;
    for (size_t i = 0; i < ends.size(); ++i) {
      double value = rank(ends[i]);
      for (size_t j = 0; j < ends.size(); ++j)
        if (j != i && programs[j] == programs[i])
          value += 0.15;
      if (value > bestRank) {
        bestRank = value;
        chosen = i;
      }
    }
    const InferState &state = ends[chosen];
    std::set<std::string> others;
    for (size_t i = 0; i < ends.size(); ++i)
      if (programs[i] != programs[chosen])
        others.insert(known.all[ends[i].base].name);
    Inference out;
    const KnownDescription &base = known.all[state.base];
    out.base = base.name;
    out.baseFile = base.file;
    out.text = Json::makeObject();
    out.text.set("extends", Json::makeString(base.name));
    for (JsonMember &member : overlayText(state.overlay).members)
      out.text.set(member.first, std::move(member.second));
    if (!state.overlay.empty())
      out.text.set("gguf", Json());
    out.description = state.description;
    out.model = state.model;
    out.parts = partsOf(state);
    out.assumptions.push_back(
        "what neither a key nor a tensor shows (the offset of norms, the pairing of rotary "
        "embeddings, defaults of absent keys, the order of a router's steps) is as in '" +
        base.name + "'");
    for (const std::string &other : others)
      out.assumptions.push_back("a description from '" + other +
                                "' explains every key and tensor too, and computes something else");
    return out;
  }

  /// Everything that is computed, as text.
  static std::string programOf(const ResolvedModel &model) {
    ProgramText hooks(model);
    model.emitModel(hooks, Handle{0});
    for (uint32_t kind = 0; kind < model.kinds.size(); ++kind) {
      const std::vector<int64_t> &layers = model.kinds[kind].layers;
      for (int64_t layer : layers)
        hooks.text += std::to_string(layer) + ",";
      ValueList values;
      for (size_t i = 0; i < hooks.carried; ++i)
        values.push_back(Handle{i});
      model.emitLayer(kind, hooks, values);
    }
    return hooks.text;
  }

  std::vector<InferredPart> partsOf(const InferState &state) const {
    std::map<size_t, InferredPart> parts;
    for (const auto &[key, donor] : state.donors) {
      auto it = state.overlay.find(key);
      if (it == state.overlay.end())
        continue;
      InferredPart &part = parts[donor];
      part.donor = known.all[donor].name;
      part.entries.push_back((it->second ? "" : "-") + key.text());
      if (!it->second)
        continue;
      for (const std::string &name : it->second->reads)
        if (facts.keys.count(name))
          part.explains.push_back("key '" + name + "'");
      if (facts.keys.count(key.name) && key.section != "params")
        part.explains.push_back("key '" + key.name + "'");
      if (facts.tails.count(tailOf(it->second->tensor)))
        part.explains.push_back("tensor '" + it->second->tensor + "'");
    }
    std::vector<InferredPart> out;
    for (auto &[donor, part] : parts) {
      std::sort(part.explains.begin(), part.explains.end());
      part.explains.erase(std::unique(part.explains.begin(), part.explains.end()),
                          part.explains.end());
      out.push_back(std::move(part));
    }
    return out;
  }

  Inference refusal(const InferState &nearest) const {
    Inference out;
    const KnownDescription &base = known.all[nearest.base];
    out.base = base.name;
    out.baseFile = base.file;
    out.model = nearest.model;
    if (nearest.description && nearest.model) {
      // Once more, for messages that somebody reads.
      ResolveOptions options;
      options.collect = true;
      options.acceptKeys = acceptKeys;
      options.adviseAcceptKey = false;
      out.model = ResolvedModel::resolve(source, nearest.description, options);
    }
    for (const std::string &key : nearest.left.keys)
      out.unexplained.push_back("key '" + key + "' has no meaning in description '" + base.name +
                                "'");
    for (const std::string &name : facts.templates)
      if (!base.tensors.count(tailOf(name)) || nearest.left.unread.count(name))
        out.unexplained.push_back("tensor '" + name + "' " + shapesOf(name) +
                                  " is read by nothing in description '" + base.name + "'");
    for (const std::string &name : nearest.left.missing)
      out.unexplained.push_back("tensor '" + name + "', which description '" + base.name +
                                "' reads, is not there");
    for (const std::string &name : nearest.left.misshapen)
      out.unexplained.push_back("tensor '" + name + "' " + shapesOf(name) +
                                " has another shape than description '" + base.name + "' gives it");
    return out;
  }

  /// Those of all tensors of a template: "[48, 12] or [48, 24]".
  std::string shapesOf(const std::string &name) const {
    std::set<std::string> shapes;
    for (const CheckpointTensor &tensor : source->checkpoint->tensors())
      if (tensor.shapeKnown && templateOf(tensor.name) == name)
        shapes.insert(shapeText(tensor.shape));
    std::string text;
    for (const std::string &shape : shapes)
      text += (text.empty() ? "" : " or ") + shape;
    return text;
  }

  std::shared_ptr<const ModelSource> source;
  KnownDescriptions known;
  const std::vector<std::string> &acceptKeys;
  ModelFacts facts;
  std::vector<double> likeness;
  std::vector<size_t> order;
  size_t evaluations = 0, budget = 0, limit = SIZE_MAX;
};

} // namespace

Inference inferDescription(std::shared_ptr<const ModelSource> source, DescriptionSet &descriptions,
                           const std::vector<std::string> &acceptKeys) {
  return Inferrer(std::move(source), descriptions, acceptKeys).run();
}

} // namespace llmc::frontend
