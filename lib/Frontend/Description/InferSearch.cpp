//===- InferSearch.cpp - the search for a description that explains all ---===//
#include "InferMoves.h"
#include "InferProgram.h"
#include "Merge.h"
#include "ShapeHooks.h"
#include "llmc/Frontend/Infer.h"
#include "llmc/Support/Error.h"

#include <algorithm>

namespace llmc::frontend {

double Leftovers::score() const {
  double things = double(keys.size() + unread.size() + missing.size() + misshapen.size());
  return (complete ? 0 : 3000) + 10 * things + 4 * double(idleRoles.size()) + 10 * double(faults) +
         0.5 * double(withoutEffect);
}

std::string Inference::sources() const {
  std::string text = "'" + base + "'";
  for (const InferredPart &part : parts)
    if (part.donor != base)
      text += ", '" + part.donor + "'";
  return text;
}

namespace {

class Inferrer {
public:
  Inferrer(std::shared_ptr<const ModelSource> source, DescriptionSet &set,
           const std::vector<std::string> &acceptKeys)
      : source(std::move(source)), known(set), acceptKeys(acceptKeys),
        facts(factsOf(*this->source)), ownMoves(known, facts, *this->source, order) {
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
    budget = std::max<size_t>(40, 480 / (1 + tensors / 1500));
  }

  Inference run() {
    Inference out;
    if (known.all.empty())
      return out;
    std::vector<InferState> bases;
    constexpr size_t looked = 14, climbed = 4;
    for (size_t i = 0; i < order.size() && bases.size() < looked; ++i)
      if (!known.all[order[i]].isPart)
        bases.push_back(resolved(order[i], {}));
    if (bases.empty())
      return out;
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
        InferState end = fits ? start : withoutDefaults(climb(start));
        // Whether a model has rotary embeddings no tensor shows.
        bool isRopeGuess = !fits && !facts.saysRope && end.model && !end.model->ropes.empty();
        saysNothingOfRope |= end.left.none() && isRopeGuess;
        if (end.left.none() && !isRopeGuess)
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
    auto templates = [&](const std::vector<std::string> &names, std::set<std::string> &out) {
      for (const std::string &name : names) {
        auto it = facts.templateOfTensor.find(name);
        out.insert(it == facts.templateOfTensor.end() ? templateOf(name) : it->second);
      }
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
        best = withRestatedKey(state);
      if (!best)
        break;
      minimise(*best, state);
      state = std::move(*best);
    }
    return state;
  }

  /// A key says once more what others have said, where a parameter of another description reads it
  /// and nothing that is computed changes with that parameter in the place of the state's.
  std::optional<InferState> withRestatedKey(const InferState &state) {
    const Leftovers &left = state.left;
    if (!left.missing.empty() || !left.misshapen.empty() || !left.faultWords.empty())
      return std::nullopt;
    std::optional<std::string> program = programWhere(state);
    if (!program)
      return std::nullopt;
    BundleContext context(known, state, facts.keys);
    for (const std::string &key : state.left.keys) {
      for (size_t donor : order) {
        if (donor == state.base || evaluations >= limit ||
            !hasMeaning(known.all[donor], {Want::Kind::Key, key}))
          continue;
        Bundle bundle = bundleOf(context, known.all[donor], {{Want::Kind::Key, key}},
                                 Reach::Statement);
        auto isParam = [](const auto &item) { return item.first.section == "params"; };
        if (bundle.overlay.empty() ||
            !std::all_of(bundle.overlay.begin(), bundle.overlay.end(), isParam))
          continue;
        InferState other = moved(state, bundle, donor);
        if (other.left.keys.count(key) || !isEvaluated(other, key) ||
            programWhere(other) != program)
          continue;
        Overlay irrelevant{{{"ledger.irrelevant", key}, namedEntry(key)}};
        InferState next = moved(state, {std::move(irrelevant), {}}, donor);
        next.notes.push_back("the key '" + key + "' says what other keys say, read as in '" +
                             known.all[donor].name + "'");
        if (next.left.score() < state.left.score())
          return next;
      }
    }
    return std::nullopt;
  }
  static std::optional<std::string> programWhere(const InferState &state) {
    return state.model && state.left.complete ? programOf(*state.model) : std::nullopt;
  }
  static bool isEvaluated(const InferState &state, const std::string &key) {
    if (!state.model)
      return false;
    const std::set<std::string> &names = state.model->configLedger.evaluated;
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string &name) { return bareKey(name) == key; });
  }
  std::optional<InferState> bestMove(const InferState &state) {
    std::vector<Want> wants = wantsOf(state.left);
    BundleContext context(known, state, facts.keys);
    std::optional<InferState> best;
    std::set<std::string> tried;
    auto attempt = [&](size_t donor, const std::vector<Want> &some) {
      if (evaluations >= limit)
        return;
      for (Reach reach : {Reach::Statement, Reach::Readers, Reach::Block}) {
        Bundle bundle = bundleOf(context, known.all[donor], some, reach);
        if (bundle.overlay.empty() || !tried.insert(overlayText(bundle.overlay).dump()).second)
          continue;
        InferState next = moved(state, bundle, donor);
        if (std::optional<InferState> mended = withoutLosses(state, next, bundle, donor))
          next = std::move(*mended);
        if (!best || better(next, *best))
          best = std::move(next);
      }
    };
    for (OwnMove &move : ownMoves.of(state)) {
      InferState next = moved(state, {move.overlay, keysOf(move.overlay)}, state.base);
      for (const auto &[key, donor] : move.donors)
        next.donors[key] = donor;
      if (!move.note.empty())
        next.notes.push_back(std::move(move.note));
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
    // One thing at a time explains less than much at once.
    constexpr double much = 40;
    if (best && best->left.score() <= state.left.score() - much)
      return best;
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

  static std::set<EntryKey> keysOf(const Overlay &overlay) {
    std::set<EntryKey> keys;
    for (const auto &item : overlay)
      keys.insert(item.first);
    return keys;
  }

  InferState moved(const InferState &state, const Bundle &bundle, size_t donor) {
    Overlay overlay = state.overlay;
    for (const auto &[key, entry] : bundle.overlay)
      overlay[key] = entry;
    InferState next = resolved(state.base, std::move(overlay));
    next.donors = state.donors;
    next.kept = state.kept;
    next.notes = state.notes;
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
      if (state.kept.count(key) || isNeeded(state, before, key))
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
      next.notes = state.notes;
      state = std::move(next);
    }
  }

  /// Keys that parameters read, that hardly another description reads and that the config leaves
  /// out: what makes a description unlike others, and here by its defaults alone.
  size_t rareDefaults(const InferState &state) const {
    constexpr size_t few = 3;
    std::set<std::string> rare;
    auto look = [&](const EntryKey &key, const Entry &entry, const KnownDescription &giver) {
      if (key.section == "params")
        for (const std::string &name : entry.reads)
          if (giver.keysRead.count(name) && !facts.keys.count(name))
            rare.insert(name);
    };
    for (const auto &[key, entry] : known.all[state.base].entries)
      if (!state.overlay.count(key))
        look(key, entry, known.all[state.base]);
    for (const auto &[key, entry] : state.overlay)
      if (entry)
        look(key, *entry, known.all[state.donors.at(key)]);
    return size_t(std::count_if(rare.begin(), rare.end(), [&](const std::string &name) {
      return std::count_if(known.all.begin(), known.all.end(), [&](const KnownDescription &one) {
               return one.keysRead.count(name) != 0;
             }) <= long(few);
    }));
  }

  /// Blocks that were taken and read parameters whose keys the config leaves out, as others have
  /// them that do without.
  InferState withoutDefaults(InferState state) {
    if (!state.left.none())
      return state;
    Overlay taken = state.overlay;
    for (const auto &[key, entry] : taken) {
      if (key.section != "blocks" || !entry || !needsDefaults(state.donors.at(key), *entry))
        continue;
      for (size_t donor : order) {
        const Entry *other = known.all[donor].find(key);
        if (!other || other->head != entry->head || needsDefaults(donor, *other))
          continue;
        InferState next = moved(state, {{{key, *other}}, {}}, donor);
        if (!next.left.none())
          continue;
        state = std::move(next);
        break;
      }
    }
    return state;
  }
  bool needsDefaults(size_t donor, const Entry &block) const {
    return std::any_of(block.reads.begin(), block.reads.end(), [&](const std::string &name) {
      return isOwnDefault(known.all[donor], name, facts.keys);
    });
  }

  /// Whether an entry that was not there before is read by others that were taken.
  bool isNeeded(const InferState &state, const InferState &before, const EntryKey &key) const {
    bool isNew = !before.overlay.count(key) && !known.all[state.base].find(key);
    if (!isNew || (key.section != "blocks" && key.section != "params"))
      return false;
    return std::any_of(state.overlay.begin(), state.overlay.end(), [&](const auto &item) {
      return item.second && item.first != key && item.second->reads.count(key.name) != 0;
    });
  }

  /// Of several that explain everything: what most of the near ones agree on.
  Inference result(const std::vector<InferState> &ends) {
    std::vector<std::optional<std::string>> programs;
    for (const InferState &end : ends)
      programs.push_back(programOf(*end.model));
    double bestRank = -HUGE_VAL;
    size_t chosen = 0;
    for (size_t i = 0; i < ends.size(); ++i) {
      double value = rank(ends[i]) - 0.15 * double(rareDefaults(ends[i]));
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
    out.assumptions.insert(out.assumptions.end(), state.notes.begin(), state.notes.end());
    for (const std::string &other : others)
      out.assumptions.push_back("a description from '" + other +
                                "' explains every key and tensor too, and computes something else");
    return out;
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
    if (saysNothingOfRope)
      out.unexplained.push_back("no key says whether and how positions are turned (rope_theta, "
                                "rope_parameters), and what would be composed turns them");
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
  OwnMoves ownMoves;
  /// A description explains all, but whether positions are turned at all is as in its base.
  bool saysNothingOfRope = false;
  size_t evaluations = 0, budget = 0, limit = SIZE_MAX;
};

} // namespace

Inference inferDescription(std::shared_ptr<const ModelSource> source, DescriptionSet &descriptions,
                           const std::vector<std::string> &acceptKeys) {
  return Inferrer(std::move(source), descriptions, acceptKeys).run();
}

} // namespace llmc::frontend
