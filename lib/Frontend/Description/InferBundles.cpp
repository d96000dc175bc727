//===- InferBundles.cpp - what one description can give to another --------===//
#include "InferSearch.h"

#include <algorithm>

namespace llmc::frontend {

std::vector<Want> wantsOf(const Leftovers &left) {
  std::vector<Want> wants;
  auto add = [&](Want::Kind kind, const std::set<std::string> &names) {
    for (const std::string &name : names)
      wants.push_back({kind, name});
  };
  add(Want::Kind::Unread, left.unread);
  add(Want::Kind::Key, left.keys);
  add(Want::Kind::Misshapen, left.misshapen);
  add(Want::Kind::Missing, left.missing);
  add(Want::Kind::Idle, left.idleRoles);
  add(Want::Kind::Fault, left.faultWords);
  return wants;
}

static bool isRopePath(const std::string &key) {
  return key.starts_with("rope_parameters.") || key.starts_with("rope_scaling.");
}
static std::string lastWord(const std::string &key) { return key.substr(key.rfind('.') + 1); }
/// "rope_parameters.full_attention.rope_theta" -> "full_attention".
static std::string ropeGroup(const std::string &key) {
  size_t first = key.find('.'), last = key.rfind('.');
  return first == last ? std::string() : key.substr(first + 1, last - first - 1);
}

static std::string biasTail(const Entry &entry) { return tailOf(biasName(entry.tensor)); }

static bool isTensor(const EntryKey &key) { return key.section.starts_with("tensors"); }

bool hasMeaning(const KnownDescription &donor, const Want &want) {
  switch (want.kind) {
  case Want::Kind::Key:
    if (isRopePath(want.name))
      return donor.keys.count(lastWord(want.name)) || donor.keys.count(want.name) ||
             std::any_of(donor.entries.begin(), donor.entries.end(), [&](const auto &item) {
               return item.second.texts.count(ropeGroup(want.name)) &&
                      !ropeGroup(want.name).empty();
             });
    return donor.keys.count(want.name) ||
           std::any_of(donor.keys.begin(), donor.keys.end(),
                       [&](const std::string &key) { return fitsPattern(key, want.name); });
  case Want::Kind::Unread: {
    if (donor.tensors.count(tailOf(want.name)))
      return true;
    return std::any_of(donor.entries.begin(), donor.entries.end(), [&](const auto &item) {
      if (isTensor(item.first) && endAlike(item.second.tensor, want.name))
        return true;
      return (item.first.section == "ledger.ignored_tensors" &&
              fitsPattern(item.first.name, want.name)) ||
             item.first.section == "prefixes";
    });
  }
  default:
    return true;
  }
}

template <typename F>
static void eachEntry(const KnownDescription &base, const Overlay &overlay, F visit) {
  // Both are sorted.
  auto other = overlay.begin();
  for (const auto &[key, entry] : base.entries) {
    for (; other != overlay.end() && other->first < key; ++other)
      if (other->second)
        visit(other->first, *other->second);
    if (other == overlay.end() || key < other->first) {
      visit(key, entry);
      continue;
    }
    if (other->second)
      visit(key, *other->second);
    ++other;
  }
  for (; other != overlay.end(); ++other)
    if (other->second)
      visit(other->first, *other->second);
}

BundleContext::BundleContext(const KnownDescriptions &known, const InferState &state,
                             const std::set<std::string> &configKeys)
    : base(known.all[state.base]), state(state), configKeys(configKeys) {
  eachEntry(base, state.overlay, [&](const EntryKey &key, const Entry &entry) {
    for (const std::string &name : entry.reads)
      ++reads[name];
    for (const std::string &name : entry.texts)
      if (!entry.reads.count(name))
        ++reads[name];
    if (isTensor(key))
      for (const std::string &role : entry.roles)
        ++roles[role];
  });
}

namespace {

class Bundler {
public:
  Bundler(const BundleContext &context, const KnownDescription &donor, Reach reach)
      : context(context), base(context.base), state(context.state), donor(donor), reach(reach) {}

  Bundle make(const std::vector<Want> &wants) {
    for (const Want &want : wants)
      seed(want);
    if (bundle.empty())
      return {};
    // New entries need what they read, and someone who reads them.
    for (size_t round = 0; round < 64; ++round) {
      size_t before = bundle.size();
      closeDown();
      closeUp();
      if (bundle.size() == before)
        break;
    }
    std::erase_if(companions, [&](const EntryKey &key) { return !bundle.count(key); });
    return {std::move(bundle), std::move(companions)};
  }

private:
  const Entry *now(const EntryKey &key) const {
    if (auto it = bundle.find(key); it != bundle.end())
      return it->second ? &*it->second : nullptr;
    return before(key);
  }
  /// In the state.
  const Entry *before(const EntryKey &key) const {
    if (auto it = state.overlay.find(key); it != state.overlay.end())
      return it->second ? &*it->second : nullptr;
    return base.find(key);
  }

  static bool isAdded(const EntryKey &key) {
    return key.section == "ledger.irrelevant" || key.section == "ledger.ignored_tensors";
  }
  /// The donor's entry in place of the state's; where the donor has none the state's goes.
  void take(const EntryKey &key) {
    const Entry *mine = before(key), *other = donor.find(key);
    if (bundle.count(key) || (!mine && !other) || (!other && isAdded(key)))
      return;
    if (mine && other && mine->value == other->value && mine->head == other->head)
      return;
    if (other)
      bundle[key] = *other;
    else
      bundle[key] = std::nullopt;
  }
  bool differs(const EntryKey &key) const {
    const Entry *mine = before(key), *other = donor.find(key);
    return (mine == nullptr) != (other == nullptr) ||
           (mine && !(mine->value == other->value && mine->head == other->head));
  }

  template <typename F> void eachOfState(F visit) const {
    eachEntry(base, state.overlay, [&](const EntryKey &key, const Entry &entry) {
      if (bundle.empty() || !bundle.count(key))
        visit(key, entry);
    });
    for (const auto &[key, entry] : bundle)
      if (entry)
        visit(key, *entry);
  }

  void seed(const Want &want) {
    switch (want.kind) {
    case Want::Kind::Key:
      return seedKey(want.name);
    case Want::Kind::Unread:
      return seedTensor(want.name);
    case Want::Kind::Missing:
      return seedMissing(want.name, true);
    case Want::Kind::Misshapen:
      return seedMissing(want.name, false);
    case Want::Kind::Idle:
      return seedIdle(want.name);
    case Want::Kind::Fault:
      return seedFault(want.name);
    }
  }

  /// Parameters of the donor that read a config key.
  void takeReaders(const std::string &key) {
    for (const auto &[at, entry] : donor.entries)
      if (at.section == "params" && entry.reads.count(key) &&
          (at.name == key || !donor.find({"params", key})))
        take(at);
  }

  void seedKey(const std::string &key) {
    size_t size = bundle.size();
    takeReaders(key);
    if (isRopePath(key)) {
      std::string group = ropeGroup(key), field = lastWord(key);
      takeReaders(field);
      for (const auto &[at, entry] : donor.entries)
        if (at.section == "params" && entry.reads.count("rope_record") &&
            (group.empty() ? entry.reads.count(field) != 0 : entry.texts.count(group) != 0))
          take(at);
      for (const char *object : {"rope_parameters.", "rope_scaling."})
        if (const Entry *synonym = donor.find({"synonyms", object + field})) {
          take({"synonyms", object + field});
          takeReaders(synonym->value.text);
        }
    }
    if (const Entry *synonym = donor.find({"synonyms", key})) {
      take({"synonyms", key});
      bool isKnown = false;
      eachOfState([&](const EntryKey &at, const Entry &entry) {
        isKnown |= at.section == "params" && entry.reads.count(synonym->value.text) != 0;
      });
      if (!isKnown)
        takeReaders(synonym->value.text);
    }
    if (bundle.size() > size)
      return;
    if (donor.find({"ledger.require", key}) && !before({"ledger.require", key}))
      take({"ledger.require", key});
    if (bundle.size() > size)
      return;
    for (const auto &[at, entry] : donor.entries)
      if (at.section == "ledger.irrelevant" && fitsPattern(at.name, key)) {
        bundle[{"ledger.irrelevant", key}] = namedEntry(key);
        return;
      }
  }

  /// Parameters that an entry reads and that the donor has otherwise.
  void takeSwitches(const Entry &entry) {
    for (const std::string &name : entry.reads)
      if (EntryKey key{"params", name}; donor.find(key) && differs(key))
        take(key);
  }

  void takeRole(const EntryKey &key, const Entry &entry) {
    take(key);
    if (reach != Reach::Block) {
      for (const std::string &name : entry.conditions)
        takeCompanion(name);
      if (reach == Reach::Statement || !takeReaderBlocks(entry.roles))
        takeStatements(entry.roles);
      return;
    }
    // Who reads it in the state may do so only under conditions.
    std::vector<const Entry *> readers;
    eachOfState([&](const EntryKey &at, const Entry &reader) {
      if (at.section == "blocks" || at.section == "model")
        for (const std::string &role : entry.roles)
          if (reader.reads.count(role))
            return void(readers.push_back(&reader));
    });
    std::set<std::string> names;
    for (const Entry *reader : readers)
      names.insert(reader->reads.begin(), reader->reads.end());
    for (const std::string &name : names)
      if (EntryKey param{"params", name}; before(param) && donor.find(param) && differs(param))
        take(param);
  }

  /// A parameter that says how a tensor is used.
  void takeCompanion(const std::string &name) {
    EntryKey param{"params", name};
    if (!before(param) || !donor.find(param) || !differs(param) ||
        isOwnDefault(donor, name, context.configKeys))
      return;
    take(param);
    companions.insert(param);
  }

  /// What else the statements of the state read that read one of the roles.
  void takeStatements(const std::set<std::string> &roles) {
    std::set<std::string> names;
    eachOfState([&](const EntryKey &, const Entry &reader) {
      for (const std::set<std::string> &statement : reader.statements)
        if (std::any_of(roles.begin(), roles.end(),
                        [&](const std::string &role) { return statement.count(role) != 0; }))
          names.insert(statement.begin(), statement.end());
    });
    for (const std::string &name : names)
      takeCompanion(name);
  }

  /// False where the state's blocks are the same.
  bool takeReaderBlocks(const std::set<std::string> &roles) {
    bool differ = false;
    for (const auto &[key, entry] : donor.entries)
      if ((key.section == "blocks" || key.section == "model") &&
          std::any_of(roles.begin(), roles.end(),
                      [&](const std::string &role) { return entry.reads.count(role) != 0; })) {
        differ |= differs(key);
        take(key);
      }
    return differ;
  }

  /// That the donor ignores a tensor; `whole`: and everything whose name begins alike.
  bool takeIgnored(const std::string &name, bool whole) {
    for (const auto &[key, entry] : donor.entries)
      if (key.section == "ledger.ignored_tensors" && fitsPattern(key.name, name) &&
          (!whole || key.name.ends_with('*'))) {
        take(key);
        return true;
      }
    return false;
  }

  void seedTensor(const std::string &name) {
    std::string tail = tailOf(name);
    bool found = false;
    if (takeIgnored(name, true))
      return;
    for (const auto &[key, entry] : donor.entries) {
      if (!isTensor(key))
        continue;
      if (tailOf(entry.tensor) == tail) {
        takeRole(key, entry);
        found = true;
      } else if (biasTail(entry) == tail) {
        take(key);
        takeSwitches(entry);
        found = true;
      }
    }
    if (found || takeIgnored(name, false))
      return;
    if (donor.tensors.count(tail) && donor.find({"forms", ""}))
      return take({"forms", ""});
    for (const auto &[key, entry] : donor.entries)
      if (isTensor(key) && endAlike(entry.tensor, name)) {
        takeRole(key, entry);
        bundle[key] = renamedTensor(entry, name);
      }
  }

  /// A role of the state whose tensor is not there, or has another shape.
  void seedMissing(const std::string &name, bool mayGo) {
    std::string tail = tailOf(name);
    std::vector<std::pair<EntryKey, const Entry *>> found;
    eachOfState([&](const EntryKey &key, const Entry &entry) {
      if (isTensor(key) && (tailOf(entry.tensor) == tail || biasTail(entry) == tail))
        found.push_back({key, &entry});
    });
    for (const auto &[key, entry] : found) {
      Entry copy = *entry;
      if (biasTail(copy) == tail && tailOf(copy.tensor) != tail) {
        take(key);
        takeSwitches(copy);
        continue;
      }
      if (mayGo || donor.find(key))
        take(key);
      takeSwitches(copy);
      if (!mayGo)
        continue;
      takeReadersOf(copy.roles);
    }
  }

  /// The donor's form of the blocks that read a role, and of the conditions there.
  void takeReadersOf(const std::set<std::string> &roles) {
    std::vector<EntryKey> readers;
    std::set<std::string> names;
    eachOfState([&](const EntryKey &key, const Entry &entry) {
      if (key.section != "blocks" && key.section != "model")
        return;
      if (std::none_of(roles.begin(), roles.end(),
                       [&](const std::string &role) { return entry.reads.count(role) != 0; }))
        return;
      readers.push_back(key);
      names.insert(entry.reads.begin(), entry.reads.end());
    });
    for (const EntryKey &key : readers)
      if (donor.find(key))
        take(key);
    for (const std::string &name : names)
      if (EntryKey key{"params", name}; donor.find(key) && before(key) && differs(key))
        take(key);
  }

  void seedIdle(const std::string &role) {
    for (const auto &[key, entry] : donor.entries)
      if ((key.section == "blocks" || key.section == "model") && entry.reads.count(role))
        take(key);
    takeReadersOf({role});
  }

  void seedFault(const std::string &word) {
    EntryKey key{"params", word};
    if (before(key))
      take(key);
  }

  void closeDown() {
    std::set<std::string> names;
    for (const auto &[key, entry] : bundle)
      if (entry) {
        names.insert(entry->reads.begin(), entry->reads.end());
        if (key.section == "layers" || key.section == "params")
          names.insert(entry->texts.begin(), entry->texts.end());
      }
    for (const std::string &name : names)
      for (const char *section : {"params", "blocks", "tensors", "tensors.layer"})
        if (EntryKey key{section, name}; donor.find(key) && !now(key) && !bundle.count(key))
          take(key);
    // Parts of a tensor are read by their own names.
    for (const auto &[key, entry] : donor.entries)
      if (isTensor(key) && !now(key) && !bundle.count(key))
        for (const std::string &role : entry.roles)
          if (names.count(role) && !isProvided(role)) {
            take(key);
            break;
          }
  }
  /// How many entries have a name, where `context` counts those of the state.
  size_t count(const std::unordered_map<std::string_view, size_t> &inState,
               const std::string &name, bool (*has)(const Entry &, const std::string &),
               bool onlyTensors) const {
    auto it = inState.find(name);
    size_t n = it == inState.end() ? 0 : it->second;
    for (const auto &[key, entry] : bundle) {
      if (onlyTensors && !isTensor(key))
        continue;
      const Entry *mine = before(key);
      n -= mine && has(*mine, name);
      n += entry && has(*entry, name);
    }
    return n;
  }
  bool isProvided(const std::string &role) const {
    auto has = [](const Entry &entry, const std::string &name) {
      return entry.roles.count(name) != 0;
    };
    return count(context.roles, role, has, true) > 0;
  }
  bool isRead(const std::string &name) const {
    auto has = [](const Entry &entry, const std::string &read) {
      return entry.reads.count(read) != 0 || entry.texts.count(read) != 0;
    };
    return count(context.reads, name, has, false) > 0;
  }

  /// Entries of the bundle that nothing reads get their readers of the donor.
  void closeUp() {
    std::set<std::string> idle;
    for (const auto &[key, entry] : bundle) {
      if (!entry)
        continue;
      if (isTensor(key)) {
        for (const std::string &role : entry->roles)
          if (!isRead(role))
            idle.insert(role);
      } else if ((key.section == "params" || key.section == "blocks") && !isRead(key.name)) {
        idle.insert(key.name);
      }
    }
    if (idle.empty())
      return;
    for (const auto &[key, entry] : donor.entries) {
      if (key.section == "checks" || key.section == "mtp")
        continue;
      bool reads = std::any_of(idle.begin(), idle.end(), [&](const std::string &name) {
        return entry.reads.count(name) || (key.section == "layers" && entry.texts.count(name));
      });
      if (reads && !(key.section == "params" && idle.count(key.name) && bundle.count(key)))
        take(key);
    }
  }

  const BundleContext &context;
  const KnownDescription &base;
  const InferState &state;
  const KnownDescription &donor;
  Reach reach;
  Overlay bundle;
  std::set<EntryKey> companions;
};

} // namespace

Bundle bundleOf(const BundleContext &context, const KnownDescription &donor,
                const std::vector<Want> &wants, Reach reach) {
  return Bundler(context, donor, reach).make(wants);
}

} // namespace llmc::frontend
