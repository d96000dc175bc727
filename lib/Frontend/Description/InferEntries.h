//===- InferEntries.h - descriptions as sets of entries ---------*- C++ -*-===//
//
// Inference moves entries between descriptions: a parameter, a tensor's role, a
// block, a synonym. Here a description is taken apart into them, with the names
// that each reads.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_LIB_FRONTEND_DESCRIPTION_INFERENTRIES_H
#define LLMC_LIB_FRONTEND_DESCRIPTION_INFERENTRIES_H

#include "llmc/Frontend/Description.h"

#include <compare>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace llmc::frontend {

/// Names an entry: the section ("params", "tensors.layer", "ledger.irrelevant") and the name in it,
/// without formal arguments; the name is empty for a section that is taken whole.
struct EntryKey {
  std::string section, name;
  auto operator<=>(const EntryKey &) const = default;
  std::string text() const { return name.empty() ? section : section + "." + name; }
};

struct Entry {
  /// As written: "window(i)".
  std::string head;
  Json value;
  /// Names that its expressions mention; of a block also those of each statement, and of a tensor
  /// those of the conditions under which it or its bias is there.
  std::set<std::string> reads;
  std::vector<std::set<std::string>> statements;
  std::set<std::string> conditions;
  /// Literal texts of its expressions: names of blocks, layer types.
  std::set<std::string> texts;
  /// Of a tensor: its role, or those of its parts.
  std::set<std::string> roles;
  /// Of a tensor: its published name.
  std::string tensor;
};

/// A description taken apart.
struct KnownDescription {
  std::string name, file;
  /// Everything merged; Json::fileIndex counts `files` of the library.
  Json json;
  std::vector<std::string> modelTypes, architectures, bases;
  /// A part for others to extend: it gives, and is no base.
  bool isPart = false;
  std::map<EntryKey, Entry> entries;
  /// Config keys that it gives a meaning or calls irrelevant; those that it reads.
  std::set<std::string> keys, keysRead;
  /// Names of tensors without what stands before the layers.
  std::set<std::string> tensors;

  const Entry *find(const EntryKey &key) const {
    auto it = entries.find(key);
    return it == entries.end() ? nullptr : &it->second;
  }
};

/// All that may be used, taken apart: those that match models and are not hidden, and the parts
/// that any description extends.
struct KnownDescriptions {
  std::vector<KnownDescription> all;
  std::vector<std::string> files;

  /// Descriptions that have a fault are left out.
  explicit KnownDescriptions(DescriptionSet &set);
};

/// Whether a parameter depends on keys, all of which a config leaves out: what it is then says
/// something about the class that the description is for, and nothing about the model.
bool isOwnDefault(const KnownDescription &description, const std::string &param,
                  const std::set<std::string> &configKeys);

/// Entries that replace those of a base; nothing means that the base's is removed.
using Overlay = std::map<EntryKey, std::optional<Entry>>;

/// The overlay as text of a description that extends the base, without `extends`.
Json overlayText(const Overlay &overlay);

/// "model.layers.3.mlp.experts.17.w1.weight" -> "model.layers.{i}.mlp.experts.{e}.w1.weight".
std::string templateOf(const std::string &tensor);
/// What a template has after "layers.{i}.", or its last two words.
std::string tailOf(const std::string &nameTemplate);
/// Whether two templates end alike: in the last word, or where that is "weight" or "bias" in the
/// last two, both or neither in a layer and of an expert.
bool endAlike(const std::string &a, const std::string &b);
/// Whether a name is that of the pattern, or begins with it where it ends in "*".
bool fitsPattern(const std::string &pattern, const std::string &text);
/// An entry of a list of names.
Entry namedEntry(const std::string &name);
/// A tensor's entry with another name for the tensor.
Entry renamedTensor(const Entry &entry, const std::string &name);
/// The name of a key without the object of the language model around it.
std::string bareKey(const std::string &key);

} // namespace llmc::frontend

#endif // LLMC_LIB_FRONTEND_DESCRIPTION_INFERENTRIES_H
