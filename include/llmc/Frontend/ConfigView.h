//===- ConfigView.h - a config in one spelling, with its ledger -*- C++ -*-===//
//
// Configs come nested (text_config), in old and new spellings (torch_dtype and
// dtype, rope_scaling and rope_parameters) and from GGUF metadata. This is the
// one place that knows: everything else asks for a key by its current name.
// Every look-up is recorded, and what nobody asked for is the ledger's unknown.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_FRONTEND_CONFIGVIEW_H
#define LLMC_FRONTEND_CONFIGVIEW_H

#include "llmc/Frontend/Json.h"
#include "llmc/Frontend/Rope.h"

#include "llmc/Support/Error.h"

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace llmc::frontend {

/// The input asks for something known by name that llmc cannot do.
struct UnsupportedError : InputError {
  using InputError::InputError;
};

/// What became of the keys of a config; nested keys with dots, as the file spells them.
struct ConfigLedger {
  /// key -> the parameters that read it.
  std::map<std::string, std::vector<std::string>> used;
  std::set<std::string> irrelevant;
  /// Those of `used` whose value was asked for: the others stand in branches that were not taken.
  std::set<std::string> evaluated;
  /// key -> value text.
  std::map<std::string, std::string> unknown;
  /// Unknown keys that the caller accepted -> value text.
  std::map<std::string, std::string> accepted;
};

class ConfigView {
public:
  /// `file` names the config in messages. `synonyms`: other spellings -> key, `OBJECT.FIELD`
  /// for a field of an object. Throws InputError when two spellings of one key contradict each
  /// other.
  ConfigView(Json config, std::string file,
             const std::vector<std::pair<std::string, std::string>> &synonyms);

  struct Entry {
    std::string path;
    const Json *value;
  };

  /// The keys of the file that config keys were made of: messages name both.
  void setOrigins(std::map<std::string, std::string> keys) { origins = std::move(keys); }
  /// "'hidden_size'", or "'llama.embedding_length' (here 'hidden_size')".
  std::string quoted(const std::string &path) const;

  /// The value under its current name, or null when absent; marks it used by `user`.
  const Json *use(const std::string &key, const std::string &user);
  const Json *peek(const std::string &key) const;
  bool has(const std::string &key) const { return entries.count(key) != 0; }
  /// "config.json:12:3: key 'x' = 5", for messages.
  std::string describe(const std::string &key) const;
  const std::string &fileName() const { return file; }

  /// Marks a key, or `prefix*`, irrelevant by name.
  void markIrrelevant(const std::string &pattern);
  /// From here on keys are marked because they are mentioned: what was used so far was evaluated.
  void endEvaluation();
  /// Everything neither used nor irrelevant becomes unknown.
  ConfigLedger finish(const std::vector<std::string> &acceptKeys) const;
  /// All current names, for near-name suggestions.
  std::vector<std::string> keys() const;

  struct RopeRequest {
    int64_t dim = 0;
    double defaultTheta = 10000.0;
    /// Key of a per-layer-type record; empty for a config with one record.
    std::string layerType;
    std::string user;
    /// The share of `dim` that turns, where the record has no share of its own.
    double partial = 1.0;
    /// Whether fields for all layers count where the layer type has none of its own.
    bool shared = true;
    /// The longest sequence meant, for dynamic scaling; 0: max_position_embeddings.
    int64_t context = 0;
    /// Longrope's lists where the checkpoint stores them (GGUF); empty otherwise.
    std::vector<float> shortFactors, longFactors;
    /// The fields of a config that has no record at all: the published class's own default.
    std::vector<std::pair<std::string, Json>> otherwise;
    /// Fields of the layer type where the config has none: they go before those for all layers.
    std::vector<std::pair<std::string, Json>> own;
    /// Of yarn, where the record has none; 0: the type's own.
    double attentionFactor = 0;
  };
  /// The rotary record of either spelling; marks the keys used.
  RopeRecord rope(const RopeRequest &request);

private:
  using Spellings = std::vector<Entry>;

  void add(const std::string &key, const Json &value, const std::string &path);
  void addObject(const Json &object, const std::string &prefix);
  bool namesFieldsOf(const std::string &key) const;
  void addFields(const Json &object, const std::string &key, const std::string &prefix);
  bool addRopeOfGroup(const std::string &key, const Json &value, const std::string &path);
  void addRopeSynonym(const std::string &field, const Json &value, const std::string &path);
  void addRope(const Json &object, const std::string &prefix, const std::string &layerType);
  void addRopeField(const std::string &layerType, const std::string &field, const Json &value,
                    const std::string &path);
  void mark(const Spellings &spellings, const std::string &user);
  [[noreturn]] void contradiction(const Entry &a, const Entry &b) const;
  const Entry *ropeField(const RopeRequest &request, const std::string &field);
  /// Of a field in the record of a layer type; null where the config has none.
  const Spellings *ropeSpellings(const std::string &group, const std::string &field) const;
  /// Whether the config has any field of the record that is meant.
  bool hasRope(const RopeRequest &request) const;
  void markIrrelevantRope(const RopeRequest &request, std::initializer_list<const char *> fields);

  std::shared_ptr<const Json> root;
  std::string file;
  std::map<std::string, std::string> synonyms, origins;
  /// Current name -> every spelling in the file.
  std::map<std::string, Spellings> entries;
  /// Layer type ("" for all layers) -> field -> every spelling.
  std::map<std::string, std::map<std::string, Spellings>> ropeFields;
  /// Rope objects that are null or empty: used as soon as a record is asked for.
  Spellings emptyRope;
  std::map<std::string, const Json *> paths;
  std::map<std::string, std::vector<std::string>> usedPaths;
  std::set<std::string> evaluatedPaths;
  std::vector<std::string> irrelevantPatterns;
};

/// Names from `candidates` within a small edit distance of `name`, nearest first.
std::vector<std::string> nearNames(const std::string &name,
                                   const std::vector<std::string> &candidates, size_t most = 3);

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_CONFIGVIEW_H
