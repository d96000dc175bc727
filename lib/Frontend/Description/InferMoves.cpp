//===- InferMoves.cpp - what a model's files say about a description ------===//
#include "InferMoves.h"
#include "InferSwitches.h"

#include <algorithm>

namespace llmc::frontend {

static bool isTensor(const EntryKey &key) { return key.section.starts_with("tensors"); }

OwnMoves::OwnMoves(const KnownDescriptions &known, const ModelFacts &facts,
                   const ModelSource &source, const std::vector<size_t> &order)
    : known(known), facts(facts), order(order), places(source) {
  const Json *text = source.config.find("text_config");
  auto isOff = [](const Json &value) {
    return value.isNull() || (value.isBool() && !value.boolean);
  };
  for (const auto &[key, value] : source.config.members) {
    if (text && text->isObject() && !text->find(key)) {
      outside.insert(key);
      if (value.isObject() && key.ends_with("_config"))
        parts.insert(key);
    }
    if (isOff(value))
      off.insert(key);
  }
  if (text)
    for (const auto &[key, value] : text->members)
      if (isOff(value))
        off.insert(key);
  if (source.checkpoint)
    for (const CheckpointTensor &tensor : source.checkpoint->tensors())
      if (tensor.shapeKnown)
        shapes[templateOf(tensor.name)].insert(tensor.shape);
}

std::vector<OwnMove> OwnMoves::of(const InferState &state) const {
  std::vector<OwnMove> moves;
  auto add = [&](std::optional<OwnMove> move) {
    if (move)
      moves.push_back(std::move(*move));
  };
  add(otherPrefix(state));
  add(idleNames(state));
  add(inertKeys(state));
  add(otherNames(state));
  for (OwnMove &move : otherDefaults(state))
    moves.push_back(std::move(move));
  add(switches(state));
  add(withoutAbsent(state));
  add(withoutOnes(state));
  add(transposed(state));
  return moves;
}

/// "model.layers.x" and "model.language_model.layers.x" -> "model." and "model.language_model.".
static std::pair<std::string, std::string> beginnings(const std::string &a, const std::string &b) {
  size_t same = 0;
  while (same < a.size() && same < b.size() && a[a.size() - 1 - same] == b[b.size() - 1 - same])
    ++same;
  std::string from = a.substr(0, a.size() - same);
  // A whole first word of the shorter name.
  size_t dot = a.find('.');
  if (dot == std::string::npos)
    return {};
  std::string word = a.substr(0, dot + 1);
  if (from.size() > word.size() || !b.ends_with(a.substr(word.size())))
    return {};
  return {word, b.substr(0, b.size() - (a.size() - word.size()))};
}

/// The names of the checkpoint begin otherwise than those of the description: what stands before
/// the same tails is replaced.
std::optional<OwnMove> OwnMoves::otherPrefix(const InferState &state) const {
  if (state.overlay.count({"prefixes", ""}) || facts.templates.empty())
    return std::nullopt;
  std::map<std::pair<std::string, std::string>, size_t> pairs;
  for (const auto &[key, entry] : known.all[state.base].entries) {
    if (!isTensor(key) || facts.templates.count(entry.tensor))
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
  return OwnMove{{{{"prefixes", ""}, std::move(entry)}}, "", {}};
}

bool OwnMoves::isKnown(const std::string &key) const {
  return std::any_of(known.all.begin(), known.all.end(), [&](const KnownDescription &one) {
    return one.keys.count(key) != 0;
  });
}

/// Keys that others call irrelevant and none gives a meaning, and tensors that others ignore by
/// name.
std::optional<OwnMove> OwnMoves::idleNames(const InferState &state) const {
  OwnMove move;
  auto give = [&](size_t donor, const EntryKey &from, const std::string &name) {
    EntryKey key{from.section, name};
    move.overlay[key] = namedEntry(name);
    move.donors[key] = donor;
  };
  auto giver = [&](const char *section, const std::string &name, bool onlyWhole) {
    for (size_t donor : order)
      for (auto it = known.all[donor].entries.lower_bound({section, ""});
           it != known.all[donor].entries.end() && it->first.section == section; ++it)
        if (fitsPattern(it->first.name, name) &&
            (!onlyWhole || it->first.name.ends_with('*'))) {
          give(donor, it->first,
               it->first.section == "ledger.irrelevant" ? name : it->first.name);
          return;
        }
  };
  for (const std::string &key : state.left.keys)
    if (std::none_of(known.all.begin(), known.all.end(), [&](const KnownDescription &one) {
          return one.keysRead.count(key) || one.find({"ledger.require", key}) ||
                 one.find({"synonyms", key});
        }))
      giver("ledger.irrelevant", key, false);
  // What stands below a name that is ignored as a whole is no weight of the model, whatever it ends
  // in; of others that some description reads one cannot say so.
  auto isRead = [&](const std::string &name) {
    return std::any_of(known.all.begin(), known.all.end(), [&](const KnownDescription &one) {
      return one.tensors.count(tailOf(name)) != 0;
    });
  };
  for (const std::string &name : state.left.unread)
    if (std::none_of(move.overlay.begin(), move.overlay.end(), [&](const auto &item) {
          return item.first.section == "ledger.ignored_tensors" &&
                 fitsPattern(item.first.name, name);
        }))
      giver("ledger.ignored_tensors", name, isRead(name));
  if (move.overlay.empty())
    return std::nullopt;
  return move;
}

/// Keys beside the object of the language model, which is made from that object alone: those of
/// other models, and those that no description knows; and keys that no description knows and that
/// say that something is off, which then is nothing that any of them computes.
std::optional<OwnMove> OwnMoves::inertKeys(const InferState &state) const {
  OwnMove move;
  std::string beside, without;
  for (const std::string &key : state.left.keys) {
    bool isOutside = outside.count(key) != 0;
    if (!parts.count(key) && ((!isOutside && !off.count(key)) || isKnown(key)))
      continue;
    move.overlay[{"ledger.irrelevant", key}] = namedEntry(key);
    std::string &list = isOutside ? beside : without;
    list += (list.empty() ? "'" : ", '") + key + "'";
  }
  if (move.overlay.empty())
    return std::nullopt;
  if (!beside.empty())
    move.note = "keys beside 'text_config' that no description reads for it are taken to say "
                "nothing about the language model: " + beside;
  if (!without.empty())
    move.note += (move.note.empty() ? "" : "; ") +
                 ("keys that are false or null and that no description knows are taken to say that "
                  "something is off: " + without);
  return move;
}

static std::map<EntryKey, const Entry *> tensorsOf(const KnownDescriptions &known,
                                                   const InferState &state) {
  std::map<EntryKey, const Entry *> out;
  for (const auto &[key, entry] : known.all[state.base].entries)
    if (isTensor(key))
      out[key] = &entry;
  for (const auto &[key, entry] : state.overlay)
    if (isTensor(key)) {
      if (entry)
        out[key] = &*entry;
      else
        out.erase(key);
    }
  return out;
}

/// Tensors that are not there, and tensors that nothing reads, whose names end alike and no other's
/// does.
std::optional<OwnMove> OwnMoves::otherNames(const InferState &state) const {
  OwnMove move;
  std::map<EntryKey, const Entry *> tensors = tensorsOf(known, state);
  for (const auto &[key, entry] : tensors) {
    auto same = [&](const std::string &name) { return tailOf(name) == tailOf(entry->tensor); };
    if (std::none_of(state.left.missing.begin(), state.left.missing.end(), same))
      continue;
    std::vector<std::string> found;
    for (const std::string &name : state.left.unread)
      if (endAlike(name, entry->tensor))
        found.push_back(name);
    size_t rivals = 0;
    for (const std::string &name : state.left.missing)
      rivals += endAlike(name, entry->tensor);
    if (found.size() != 1 || rivals != 1)
      continue;
    move.overlay[key] = renamedTensor(*entry, found[0]);
    move.note += (move.note.empty() ? "" : ", ") + ("'" + found[0] + "' is what '") +
                 entry->tensor + "' is there";
  }
  if (move.overlay.empty())
    return std::nullopt;
  return move;
}

/// Replaces `default(KEY, VALUE)` by `default(KEY, OTHER)`.
static bool replaceDefault(Json &value, const std::string &key, const std::string &from,
                           const std::string &to) {
  Json &text = value.items.empty() ? value : value.items[0];
  std::string pattern = "default(" + key + ", " + from + ")";
  size_t at = text.text.find(pattern);
  if (at == std::string::npos)
    return false;
  text.text.replace(at, pattern.size(), "default(" + key + ", " + to + ")");
  return true;
}

/// Switches whose keys are absent and which the shapes or names of tensors depend on, turned round.
std::vector<OwnMove> OwnMoves::otherDefaults(const InferState &state) const {
  auto find = [&](const EntryKey &key) -> const Entry * {
    if (auto it = state.overlay.find(key); it != state.overlay.end())
      return it->second ? &*it->second : nullptr;
    return known.all[state.base].find(key);
  };
  auto isWanted = [&](const Entry &entry) {
    for (const std::set<std::string> *names : {&state.left.missing, &state.left.misshapen})
      for (const std::string &name : *names)
        if (tailOf(name) == tailOf(entry.tensor) || tailOf(name) == tailOf(biasName(entry.tensor)))
          return true;
    return false;
  };
  std::vector<std::string> names;
  for (const auto &[key, entry] : tensorsOf(known, state))
    if (isWanted(*entry))
      names.insert(names.end(), entry->reads.begin(), entry->reads.end());
  std::vector<OwnMove> moves;
  std::set<std::string> seen;
  for (size_t at = 0; at < names.size(); ++at) {
    EntryKey key{"params", names[at]};
    const Entry *param = find(key);
    if (!param || !seen.insert(names[at]).second)
      continue;
    names.insert(names.end(), param->reads.begin(), param->reads.end());
    for (const std::string &read : param->reads)
      for (bool value : {false, true}) {
        Entry other = *param;
        if (facts.keys.count(read) ||
            !replaceDefault(other.value, read, value ? "true" : "false", value ? "false" : "true"))
          continue;
        moves.push_back({{{key, std::move(other)}},
                         "the key '" + read + "' is absent, and taken to be " +
                             (value ? "false" : "true") + " as the tensors ask for",
                         {}});
      }
  }
  return moves;
}

/// Tensors that are not there and that nothing reads.
std::optional<OwnMove> OwnMoves::withoutAbsent(const InferState &state) const {
  OwnMove move;
  for (const auto &[key, entry] : tensorsOf(known, state)) {
    bool isIdle = std::all_of(entry->roles.begin(), entry->roles.end(), [&](const auto &role) {
      return state.left.idleRoles.count(role) != 0;
    });
    bool isMissing = std::any_of(
        state.left.missing.begin(), state.left.missing.end(),
        [&](const std::string &name) { return tailOf(name) == tailOf(entry->tensor); });
    if (isIdle && isMissing)
      move.overlay[key] = std::nullopt;
  }
  if (move.overlay.empty())
    return std::nullopt;
  return move;
}

/// Conditions that the tensors decide.
std::optional<OwnMove> OwnMoves::switches(const InferState &state) const {
  OwnMove move;
  move.overlay = switchesOf(known.all[state.base], state, places);
  for (const auto &[key, entry] : move.overlay)
    move.note += (move.note.empty() ? "by the tensors that are there, whatever keys could say: " : ", ") +
                 key.text() + (entry ? " = " + entry->value.items[0].text : " is not used");
  if (move.overlay.empty())
    return std::nullopt;
  return move;
}

static std::vector<int64_t> largerThanOne(std::vector<int64_t> shape) {
  std::erase(shape, 1);
  return shape;
}

/// Tensors that have the shape the description gives them but for dimensions of one.
std::optional<OwnMove> OwnMoves::withoutOnes(const InferState &state) const {
  OwnMove move;
  if (!state.model)
    return std::nullopt;
  for (const auto &[key, entry] : tensorsOf(known, state)) {
    if (entry->roles.size() != 1 || entry->value.items.size() < 2)
      continue;
    auto family = std::find_if(state.model->families.begin(), state.model->families.end(),
                               [&](const WeightFamily &one) {
                                 return !one.isBias && one.role == *entry->roles.begin();
                               });
    auto at = std::find_if(shapes.begin(), shapes.end(), [&](const auto &item) {
      return state.left.misshapen.count(item.first) && tailOf(item.first) == tailOf(entry->tensor);
    });
    if (family == state.model->families.end() || at == shapes.end() || at->second.size() != 1)
      continue;
    const std::vector<int64_t> &stored = *at->second.begin();
    if (stored == family->shape || largerThanOne(stored) != largerThanOne(family->shape))
      continue;
    Entry own = *entry;
    if (own.value.items.size() < 3)
      own.value.items.push_back(Json::makeObject());
    own.value.items[2].set("stored", Json::makeString(shapeText(stored)));
    move.overlay[key] = std::move(own);
  }
  if (move.overlay.empty())
    return std::nullopt;
  return move;
}

/// Matrices that the checkpoint holds the other way round. That a square one is does not show: it
/// is taken to be where all others are.
std::optional<OwnMove> OwnMoves::transposed(const InferState &state) const {
  OwnMove move;
  std::vector<std::pair<EntryKey, const Entry *>> square;
  bool all = true;
  std::string names;
  for (const auto &[key, entry] : tensorsOf(known, state)) {
    if (key.section != "tensors.layer" || entry->value.items.size() < 2)
      continue;
    const Json &shape = entry->value.items[1];
    // Two dimensions, and no norm of a head.
    if (!shape.isString() || std::count(shape.text.begin(), shape.text.end(), ',') != 1)
      continue;
    auto at = std::find_if(shapes.begin(), shapes.end(), [&](const auto &item) {
      return tailOf(item.first) == tailOf(entry->tensor);
    });
    if (at == shapes.end() || at->second.empty())
      continue;
    bool isMisshapen = std::any_of(
        state.left.misshapen.begin(), state.left.misshapen.end(),
        [&](const std::string &name) { return tailOf(name) == tailOf(entry->tensor); });
    bool isSquare = std::all_of(at->second.begin(), at->second.end(), [](const auto &dims) {
      return dims.size() >= 2 && dims[dims.size() - 1] == dims[dims.size() - 2];
    });
    if (isMisshapen)
      move.overlay[key] = *entry;
    else if (isSquare)
      square.push_back({key, entry});
    else
      all = false;
  }
  if (move.overlay.empty())
    return std::nullopt;
  if (all)
    for (const auto &[key, entry] : square) {
      move.overlay[key] = *entry;
      names += (names.empty() ? "'" : ", '") + entry->tensor + "'";
    }
  for (auto &[key, entry] : move.overlay) {
    Json &value = entry->value;
    if (value.items.size() < 3)
      value.items.push_back(Json::makeObject());
    const Json *now = value.items[2].find("transposed");
    bool is = now && now->isBool() && now->boolean;
    value.items[2].set("transposed", Json::makeBool(!is));
  }
  if (!names.empty())
    move.note = "the square matrices " + names + " are taken to be transposed like all others";
  return move;
}

} // namespace llmc::frontend
