//===- HuggingFaceTokenizer.cpp - a tokenizer from a model folder ---------===//
#include "ByteAlphabet.h"
#include "HuggingFacePipeline.h"
#include "Normalizer.h"
#include "SpecBuilder.h"
#include "llmc/Support/Error.h"
#include "llmc/Support/JsonError.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>

namespace llmc::rt {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr uintmax_t maxFileBytes = uintmax_t(256) << 20;
constexpr int64_t maxId = int64_t(1) << 22;

std::string readFile(const fs::path &path) {
  std::error_code ec;
  uintmax_t size = fs::file_size(path, ec);
  if (ec)
    throw InputError("Cannot read " + path.string() + ": " + ec.message() + ".");
  if (size > maxFileBytes)
    throw InputError(path.string() + " has " + std::to_string(size) +
                     " bytes; the limit for a tokenizer is 256 MiB.");
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (in.bad() || !in.is_open())
    throw InputError("Cannot read " + path.string() + ".");
  return text;
}

/// A file that cannot be asked for is none: a name may be too long for the system.
bool isThere(const fs::path &path) {
  std::error_code error;
  return fs::exists(path, error);
}

json parseFile(const fs::path &path) {
  try {
    return json::parse(readFile(path));
  } catch (const json::exception &error) {
    throw InputError(path.filename().string() + " is no JSON: " + jsonErrorText(error) + ".");
  }
}

/// An object, empty where there is no such file.
json readOptional(const fs::path &path) {
  if (!isThere(path))
    return json::object();
  json value = parseFile(path);
  if (!value.is_object())
    throw InputError(path.string() + " is not a JSON object.");
  return value;
}

int32_t checkedId(const json &value, const std::string &what) {
  if (!value.is_number_integer() || value.get<int64_t>() < 0 || value.get<int64_t>() >= maxId)
    throw InputError("The id of " + what + " is " + value.dump() + "; ids are 0 to " +
                     std::to_string(maxId - 1) + ".");
  return value.get<int32_t>();
}

/// The file of SentencePiece, by the names that are in use; empty where there is none.
fs::path sentencePieceFile(const fs::path &dir) {
  for (const char *name : {"tokenizer.model", "spiece.model", "sentencepiece.bpe.model"})
    if (isThere(dir / name))
      return dir / name;
  return {};
}

class FolderReader {
public:
  explicit FolderReader(const fs::path &dir)
      : dir(dir), config(readOptional(dir / "tokenizer_config.json")),
        specialMap(readOptional(dir / "special_tokens_map.json")),
        generation(readOptional(dir / "generation_config.json")) {}

  TokenizerSpec read() {
    try {
      return readParts();
    } catch (const json::exception &error) {
      throw InputError(where + ": " + jsonErrorText(error) + ".");
    }
  }

private:
  TokenizerSpec readParts() {
    fs::path pieces = sentencePieceFile(dir);
    if (!isThere(dir / "tokenizer.json") && !pieces.empty()) {
      spec = specFromSentencePiece(readFile(pieces));
      readAddedTokens();
      readSpecialIds();
    } else {
      readTokenizerJson();
    }
    applyTokenizerClass();
    readChatTemplate();
    spec.validate();
    return std::move(spec);
  }

  void readTokenizerJson() {
    file = parseFile(dir / "tokenizer.json");
    if (!file.is_object() || !file.contains("model") || !file["model"].is_object())
      throw InputError("tokenizer.json has no object \"model\".");
    const json &model = file["model"];
    readNormalizer(member("normalizer"), spec);
    readPreTokenizer(member("pre_tokenizer"), spec);
    readDecoder(member("decoder"), spec);
    where = "tokenizer.json: \"model\"";
    std::string type = checkModel(model);
    if (type == "Unigram")
      readUnigram(model);
    else
      readVocabulary(model);
    readAddedTokens();
    normalizeAddedTokens();
    where = "tokenizer.json: \"model\"";
    if (type == "BPE")
      readMerges(model);
    else // tokens that the model does not have take no part in its sums
      spec.logProbabilities.resize(spec.tokens.size(), spec.logProbabilities.front());
    readSpecialIds();
    readPostProcessor(member("post_processor"), spec);
    spec.source = "huggingface:" + type;
  }

  json member(const char *key) {
    where = std::string("tokenizer.json: \"") + key + "\"";
    auto it = file.find(key);
    return it == file.end() ? json(nullptr) : *it;
  }

  /// The type of the model, which old files do not name.
  std::string checkModel(const json &model) {
    std::string type = model.value("type", model.contains("merges")   ? "BPE"
                                           : model.contains("unk_id") ? "Unigram"
                                                                      : "");
    if (type != "BPE" && type != "Unigram")
      throw UnsupportedTokenizer("Its model is \"" + type +
                       "\", which is not supported; BPE and Unigram are.");
    for (const char *affix : {"continuing_subword_prefix", "end_of_word_suffix"})
      if (auto it = model.find(affix);
          it != model.end() && it->is_string() && !it->get<std::string>().empty())
        throw UnsupportedTokenizer(std::string("Its model has the ") + affix + " \"" +
                         it->get<std::string>() +
                         "\", which is not supported.");
    if (auto it = model.find("dropout");
        it != model.end() && it->is_number() && it->get<double>() > 0)
      throw UnsupportedTokenizer("Its model has a dropout, so it is not the same twice.");
    auto flag = [&](const char *key) {
      auto it = model.find(key);
      return it != model.end() && it->is_boolean() && it->get<bool>();
    };
    spec.ignoreMerges = flag("ignore_merges");
    spec.fuseUnknown = flag("fuse_unk");
    spec.byteFallback = flag("byte_fallback");
    return type;
  }

  void readUnigram(const json &model) {
    auto vocab = model.find("vocab");
    if (vocab == model.end() || !vocab->is_array() || vocab->empty() ||
        vocab->size() > size_t(maxId))
      throw InputError("Its model has no list \"vocab\" of 1 to " + std::to_string(maxId) +
                       " pieces.");
    spec.kind = TokenizerKind::Unigram;
    for (const json &entry : *vocab) {
      if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number())
        throw InputError("Entry " + std::to_string(spec.tokens.size()) +
                         " of its vocab is not a piece with its score.");
      spec.tokens.push_back({entry[0].get<std::string>(), TokenType::Normal});
      spec.logProbabilities.push_back(entry[1].get<double>());
    }
    auto unknown = model.find("unk_id");
    if (unknown == model.end() || unknown->is_null())
      throw UnsupportedTokenizer("Its model has no unk_id, so it cannot encode every text. This is not "
                       "supported.");
    spec.modelUnknownId = spec.unkId = checkedId(*unknown, "the unknown token (unk_id)");
  }

  TokenEntry &place(int32_t id) {
    if (static_cast<size_t>(id) >= spec.tokens.size())
      spec.tokens.resize(id + 1, {"", TokenType::Unused});
    return spec.tokens[id];
  }

  void readVocabulary(const json &model) {
    auto vocab = model.find("vocab");
    if (vocab == model.end() || !vocab->is_object())
      throw InputError("Its model has no \"vocab\" object.");
    for (const auto &[text, idValue] : vocab->items()) {
      int32_t id = checkedId(idValue, "token \"" + text + "\"");
      TokenEntry &entry = place(id);
      if (entry.type != TokenType::Unused)
        throw InputError("The tokens \"" + entry.text + "\" and \"" + text +
                         "\" both have the id " + std::to_string(id) + ".");
      entry = {text, TokenType::Normal};
    }
  }

  void addToken(int32_t id, const json &token) {
    AddedToken added;
    added.id = id;
    added.content = token.at("content").get<std::string>();
    added.special = token.value("special", false);
    added.lstrip = token.value("lstrip", false);
    added.rstrip = token.value("rstrip", false);
    added.singleWord = token.value("single_word", false);
    added.normalized = token.value("normalized", !added.special);
    TokenEntry &entry = place(id);
    // A special token is no piece of BPE, even where it stands in the vocab.
    // Another one that does stays a piece: merges may lead to it.
    if (added.special)
      entry = {added.content, TokenType::Control};
    else if (entry.type == TokenType::Unused)
      entry = {added.content, TokenType::UserDefined};
    if (spec.sentencePiece())
      spec.scores.resize(spec.tokens.size());
    // SentencePiece's model finds its user-defined pieces itself.
    if (!spec.sentencePiece() || added.special)
      spec.addedTokens.push_back(std::move(added));
  }

  void readAddedTokens() {
    for (const json &token : member("added_tokens"))
      addToken(checkedId(token.at("id"), "an added token"), token);
    // The class that loads a tokenizer adds what only its configuration has.
    where = "tokenizer_config.json: \"added_tokens_decoder\"";
    auto more = config.find("added_tokens_decoder");
    if (more == config.end() || !more->is_object())
      return;
    for (const auto &[key, token] : more->items()) {
      int32_t id = -1;
      std::from_chars(key.data(), key.data() + key.size(), id);
      id = checkedId(json(id), "added token \"" + key + "\"");
      bool known = std::any_of(spec.addedTokens.begin(), spec.addedTokens.end(),
                               [&](const AddedToken &added) { return added.id == id; });
      // The pieces of a SentencePiece file have their types already.
      known |= spec.sentencePiece() && static_cast<size_t>(id) < spec.tokens.size() &&
               spec.tokens[id].type != TokenType::Unused;
      if (!known)
        addToken(id, token);
    }
  }

  /// Their text in the vocabulary changes as well: that is what the library decodes them to.
  void normalizeAddedTokens() {
    Normalizer normalizer(spec);
    for (AddedToken &token : spec.addedTokens) {
      if (!token.normalized)
        continue;
      token.content = normalizer.run(token.content);
      if (TokenEntry &entry = spec.tokens[token.id]; entry.type != TokenType::Normal)
        entry.text = token.content;
    }
  }

  void readMerges(const json &model) {
    PieceIndex pieces(spec);
    auto merges = model.find("merges");
    if (merges == model.end() || !merges->is_array())
      throw InputError("Its model has no list \"merges\".");
    size_t rank = 0;
    for (const json &merge : *merges) {
      // Old files have "left right", new ones ["left", "right"].
      if (merge.is_string()) {
        const auto &text = merge.get_ref<const std::string &>();
        auto [left, right] = splitMerge(rank, text);
        spec.merges.push_back(pieces.resolve(rank, left, right));
      } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
                 merge[1].is_string()) {
        spec.merges.push_back(pieces.resolve(rank, merge[0].get_ref<const std::string &>(),
                                             merge[1].get_ref<const std::string &>()));
      } else {
        throw InputError("Merge " + std::to_string(rank) +
                         " is neither a string nor a pair of strings.");
      }
      ++rank;
    }
    auto unknown = model.find("unk_token");
    if (unknown == model.end() || !unknown->is_string())
      return;
    spec.modelUnknownId = spec.unkId = findToken(unknown->get<std::string>());
    if (!spec.unkId)
      throw InputError("Its model has the unk_token \"" + unknown->get<std::string>() +
                       "\", which is not in the vocabulary.");
  }

  std::optional<int32_t> findToken(const std::string &text) const {
    for (const AddedToken &token : spec.addedTokens)
      if (token.content == text)
        return token.id;
    for (size_t id = 0; id < spec.tokens.size(); ++id)
      if (spec.tokens[id].type != TokenType::Unused && spec.tokens[id].text == text)
        return static_cast<int32_t>(id);
    return std::nullopt;
  }

  /// A token named in a configuration: a string, or an object with it.
  std::optional<int32_t> namedToken(const char *key) const {
    for (const json *source : {&config, &specialMap}) {
      auto it = source->find(key);
      if (it == source->end())
        continue;
      if (it->is_object() && it->contains("content"))
        it = it->find("content");
      if (it->is_string())
        return findToken(it->get<std::string>());
    }
    return std::nullopt;
  }

  /// One id or a list of them.
  std::vector<int32_t> generationIds(const char *key) const {
    std::vector<int32_t> ids;
    auto it = generation.find(key);
    if (it == generation.end() || it->is_null())
      return ids;
    for (const json &id : it->is_array() ? *it : json::array({*it}))
      ids.push_back(checkedId(id, std::string(key) + " in generation_config.json"));
    return ids;
  }

  void readSpecialIds() {
    for (auto [key, id] :
         {std::pair("bos_token", &spec.bosId), std::pair("eos_token", &spec.eosId),
          std::pair("pad_token", &spec.padId), std::pair("unk_token", &spec.unkId)})
      if (auto named = namedToken(key))
        *id = named;
    std::vector<int32_t> eos = generationIds("eos_token_id");
    if (!spec.bosId)
      if (std::vector<int32_t> bos = generationIds("bos_token_id"); !bos.empty())
        spec.bosId = bos.front();
    if (!spec.eosId && !eos.empty())
      spec.eosId = eos.front();
    if (spec.eosId)
      addEndOfGeneration(spec, *spec.eosId);
    for (int32_t id : eos)
      addEndOfGeneration(spec, id);
  }

  /// Some classes of transformers replace the post-processor of the file by
  /// their own, made from two flags of the configuration.
  void applyTokenizerClass() {
    where = "tokenizer_config.json: \"tokenizer_class\"";
    std::string name = config.value("tokenizer_class", "");
    bool replaces = name.starts_with("LlamaTokenizer") || name.starts_with("CodeLlamaTokenizer") ||
                    name.starts_with("GemmaTokenizer") || name.starts_with("CohereTokenizer");
    if (name.starts_with("T5Tokenizer") && spec.sentencePiece() && spec.eosId)
      spec.suffixIds = {*spec.eosId};
    if (!replaces)
      return;
    auto flag = [&](const char *key, bool fallback) {
      auto it = config.find(key);
      return it != config.end() && it->is_boolean() ? it->get<bool>() : fallback;
    };
    spec.prefixIds.clear();
    spec.suffixIds.clear();
    if (flag("add_bos_token", true) && spec.bosId)
      spec.prefixIds = {*spec.bosId};
    if (flag("add_eos_token", false) && spec.eosId)
      spec.suffixIds = {*spec.eosId};
  }

  void readChatTemplate() {
    if (isThere(dir / "chat_template.jinja")) {
      spec.chatTemplate = readFile(dir / "chat_template.jinja");
      return;
    }
    auto it = config.find("chat_template");
    if (it == config.end() || it->is_null())
      return;
    where = "tokenizer_config.json: \"chat_template\"";
    if (it->is_string()) {
      spec.chatTemplate = it->get<std::string>();
      return;
    }
    if (!it->is_array())
      throw InputError(where + " is " + it->type_name() +
                       "; it must be a text, or a list of objects with a name and a template.");
    // Several templates, by name.
    for (const json &entry : *it)
      if (entry.at("name").get<std::string>() == "default")
        spec.chatTemplate = entry.at("template").get<std::string>();
  }

  /// What is being read, for messages on values of the wrong kind.
  std::string where = "tokenizer.json";
  fs::path dir;
  json file, config, specialMap, generation;
  TokenizerSpec spec;
};

} // namespace

bool hasTokenizerFile(const fs::path &dir) {
  return isThere(dir / "tokenizer.json") || !sentencePieceFile(dir).empty();
}

TokenizerSpec specFromHuggingFace(const fs::path &dir) {
  try {
    return FolderReader(dir).read();
  } catch (const UnsupportedTokenizer &error) {
    throw UnsupportedTokenizer("The tokenizer in " + dir.string() + " cannot be used: " +
                               error.what());
  } catch (const InputError &error) {
    throw InputError("The tokenizer in " + dir.string() + " cannot be used: " + error.what());
  }
}

} // namespace llmc::rt
