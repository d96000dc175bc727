//===- Description.h - architecture descriptions as data --------*- C++ -*-===//
//
// A description says what a published architecture is: which config keys mean
// what, which tensors there are, and the blocks as statements whose operations
// are those of the `llm` dialect. models/README.md is its manual, models/ has
// the ones that ship.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_FRONTEND_DESCRIPTION_H
#define LLMC_FRONTEND_DESCRIPTION_H

#include "llmc/Frontend/Expression.h"
#include "llmc/Frontend/Json.h"
#include "llmc/Frontend/ModelSource.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace llmc::frontend {

class OpSignatures;

/// `"K": ["num_key_value_heads ?? H", "int(1, 65536)"]`, or a function of the layer index
/// `"window(i)": "..."`.
struct ParamDef {
  std::string name;
  /// Formal arguments of a parameter function.
  std::vector<std::string> formals;
  bool isFunction = false;
  ExprPtr value;
  enum class Type : uint8_t { Any, Int, Float, Bool, Text, List } type = Type::Any;
  bool nullable = false;
  std::optional<double> low, high;
  /// Of the files that were merged, the one that defines it.
  uint32_t fileIndex = 0;
  SourceLocation location;
};

/// Consecutive or alternating rows of a tensor, with a role of their own.
struct TensorPart {
  std::string role;
  ExprPtr rows;
  /// The matrix of each group is read as [columns, rows].
  bool transposed = false;
};

/// `"q": ["model.layers.{i}.self_attn.q_proj.weight", "[H * Dh, D]", {"bias": "..."}]`.
struct TensorDef {
  std::string role;
  std::string nameTemplate;
  ExprPtr shape;
  /// Present only where true; null: always. May depend on the layer.
  ExprPtr when;
  /// Adds the role "<role>.bias" where true, under `biasTemplate`.
  ExprPtr bias;
  std::string biasTemplate;
  /// Role whose tensor this one is, or null for none.
  ExprPtr tied;
  /// Present when the checkpoint holds it.
  bool optional = false;
  bool perLayer = false;
  /// The published file holds the matrix as [columns, rows]; `shape` is [rows, columns].
  bool transposed = false;
  /// How many experts there are; `shape` is that of one. The file has a tensor for each where
  /// the name holds {e}, and otherwise one that holds them one after another.
  ExprPtr experts;
  /// The rows are so many groups (heads), and the parts are rows of each.
  ExprPtr groups;
  /// Shape of what is stored where it is not that of the weight: dimensions of one more, or rows
  /// at the end that do not count.
  ExprPtr stored;
  /// Each row is divided by its length where true.
  ExprPtr unitRows;
  /// A table of whole numbers; no parameter.
  bool integer = false;
  /// Constants in place of a stored tensor: element `n` (row by row) of layer `i`.
  ExprPtr values;
  /// Roles that are consecutive rows of this tensor, with their numbers of rows; together they
  /// are all of it. The tensor itself is no role of a block then.
  std::vector<TensorPart> parts;
  /// The rows of the parts alternate.
  bool interleave = false;
  /// Of a part: the role that it is cut from. Everything else stands there.
  std::string whole;
  SourceLocation location;
};

/// Other beginnings of tensor names: "model." -> "language_model.model.".
struct PrefixDef {
  /// Where the alternative is possible; null: always.
  ExprPtr when;
  std::vector<std::pair<std::string, std::string>> replaced;

  /// The name with its longest beginning replaced.
  std::string apply(const std::string &name) const;
};

/// Another way to store the same roles: another generation of the family.
struct FormDef {
  /// Where the model was published so; null: only a checkpoint shows it.
  ExprPtr when;
  /// All tensors, those of the form in place of the description's.
  std::vector<TensorDef> tensors;
  /// Roles that the form itself names.
  std::vector<std::string> own;
};

/// Layers for multi-token prediction: listed and left out.
struct MtpDef {
  /// How many there are, and the number of the first in names.
  ExprPtr count, from;
  /// The layer whose tensors each of them has too; null: none.
  ExprPtr like;
  /// Of those tensors: other beginnings of their names, and roles that are not there.
  PrefixDef renamed;
  std::vector<std::string> without;
  std::vector<TensorDef> tensors;
};

struct BlockDef {
  std::string name;
  std::vector<std::string> formals;
  std::vector<Statement> statements;
  SourceLocation location;
};

/// A condition that must hold of the config, with what to say when it does not.
struct CheckDef {
  ExprPtr condition;
  std::string message;
};

/// A config key that is refused unless it has one of these values.
struct RequireDef {
  std::string key;
  std::vector<Json> allowed;
  SourceLocation location;
};

struct GgufDef {
  /// general.architecture; empty when GGUF files of this architecture have none.
  std::string arch;
  /// Metadata key ("{arch}.block_count") -> config key, with the values' spellings.
  struct KeyMap {
    std::string metadataKey, configKey;
    std::vector<std::pair<std::string, Json>> values;
  };
  std::vector<KeyMap> keys;
  /// Config keys computed from the file: has_tensor('name').
  std::vector<std::pair<std::string, ExprPtr>> config;
  /// role -> tensor name template.
  std::map<std::string, std::string> tensors;
  std::vector<std::string> irrelevant, ignoredTensors;
  /// Tensor with divisors of the rope frequencies, empty for none.
  std::string ropeDivisors;
  /// Tensors with longrope's lists, empty for none.
  std::string ropeShortFactors, ropeLongFactors;
  bool ropeInterleaved = false;
};

struct Description {
  /// File stem.
  std::string name;
  std::string file;
  /// Names of the descriptions it extends, nearest first.
  std::vector<std::string> bases;
  std::vector<std::string> modelTypes, architectures;
  /// FILE:LINE:COLUMN of `inferred`, by which a description says that nobody has proved it; empty
  /// without.
  std::string inferredAt;

  std::vector<std::pair<std::string, std::string>> synonyms;
  /// Config key -> what parameters read where the config has no such key; a parameter of a later
  /// file says itself what an absent key means.
  std::vector<std::pair<std::string, Json>> defaults;
  std::vector<ParamDef> params;
  std::vector<CheckDef> checks;
  std::vector<std::string> irrelevantKeys, ignoredTensors;
  std::vector<RequireDef> requires_;
  std::vector<TensorDef> tensors;
  /// The first that is possible is how the model was published.
  std::vector<PrefixDef> prefixes;
  std::vector<FormDef> forms;
  std::optional<MtpDef> mtp;
  ExprPtr layerCount, layerBlock;
  std::vector<BlockDef> blocks;
  std::vector<Statement> model;
  /// context_length, vocab_size, hidden_size, bos_token_ids, eos_token_ids.
  std::map<std::string, ExprPtr> facts;
  bool ropeInterleaved = false;
  std::optional<GgufDef> gguf;
  /// The `config` of a hand-written model; null otherwise.
  Json config;
  /// What statements may call beside the operations of llmc; null for nothing.
  std::shared_ptr<const OpSignatures> operations;

  const ParamDef *findParam(const std::string &param) const;
  const BlockDef *findBlock(const std::string &block) const;
  const TensorDef *findTensor(const std::string &role) const;
  const Json *findDefault(const std::string &key, const ParamDef &reader) const;
};

/// Reads a description's merged JSON; `files` is indexed by Json::fileIndex. Throws
/// InputError with file, line and expression.
Description parseDescription(const Json &json, const std::string &name,
                             const std::vector<std::string> &files);

/// The bias of a tensor: ".weight" at the end becomes ".bias".
std::string biasName(const std::string &weightName);
/// Role of a weight's bias.
inline std::string biasRole(const std::string &role) { return role + ".bias"; }

/// The descriptions that can match, from folders and files; later ones win by name.
class DescriptionSet {
public:
  /// Every *.jsonc of a folder; a folder that does not exist is skipped.
  void addDirectory(const std::string &folder);
  /// One file of the user's own; wins over those of folders. Returns its name.
  std::string addFile(const std::string &file);
  /// Lets statements call what op libraries define; before a description is loaded.
  void setOperations(std::shared_ptr<const OpSignatures> added) { operations = std::move(added); }
  /// Hides a description by name or model_type from matching and from being nearest; those
  /// that extend it stay.
  void exclude(const std::string &name);

  /// By model_type, then architectures (nested text_config as well); for GGUF by
  /// general.architecture. Null when nothing matches. A source that is a description itself
  /// matches itself.
  std::shared_ptr<const Description> match(const ModelSource &source);
  /// For a source that nothing matches: what each of the user's own files is for instead.
  std::vector<std::string> userMisfits(const ModelSource &source);
  /// For a source that `matched` is for: which of the user's own files have no part in it, with
  /// what they are for instead.
  std::vector<std::string> unusedFiles(const ModelSource &source, const Description &matched);
  /// By name, whether excluded or not. Throws InputError with near names.
  std::shared_ptr<const Description> load(const std::string &name);
  /// The text of a description with all that it extends merged in; `files` names those that
  /// Json::fileIndex counts. Throws InputError like `load`.
  Json mergedText(const std::string &name, std::vector<std::string> &files);
  /// Names that can match, sorted.
  std::vector<std::string> names() const;
  bool empty() const { return files.empty(); }

  /// What to say of a config whose model_type `matched` does not list, so that its architectures
  /// alone decided; empty for all others.
  static std::string typeNote(const ModelSource &source, const Description &matched);

private:
  struct File {
    std::string path;
    bool fromUser = false;
    std::optional<Json> json;
  };
  Json merged(const std::string &name, std::vector<std::string> &chain,
              std::vector<std::string> &chainFiles);
  const Json &raw(const std::string &name);
  bool isExcluded(const std::string &name);
  /// "model_type 'a', 'b' and architectures 'C'"; empty for a file that matches nothing.
  std::string matchText(const std::string &name, bool isGguf);

  std::map<std::string, File> files;
  std::vector<std::string> excluded;
  std::shared_ptr<const OpSignatures> operations;
  std::map<std::string, std::shared_ptr<const Description>> loaded;
};

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_DESCRIPTION_H
