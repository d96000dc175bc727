//===- PreTokenizerTables.cpp - the pre-tokenizers GGUF files name --------===//
//
// The rules are those of the models' published tokenizer.json files. A name
// stands for one sequence of steps; several names may share a sequence.
//
// A normalizer is not written to GGUF files. Where the published tokenizer has
// one (NFC, for the families marked here) it belongs to the rules all the same.
//
//===----------------------------------------------------------------------===//
#include "PreTokenizer.h"

#include <array>
#include <string>

namespace llmc::rt {
namespace {

constexpr const char *digit = R"(\p{N})";
constexpr const char *upTo3Digits = R"(\p{N}{1,3})";
constexpr const char *three = "[0-9][0-9][0-9]";

// The contractions, letters, digits, punctuation and white space of GPT-4 and
// what followed it; the models differ in the digits and in small things.
#define LLMC_CONTRACTIONS R"((?i:'s|'t|'re|'ve|'m|'ll|'d))"
#define LLMC_LETTERS R"([^\r\n\p{L}\p{N}]?\p{L}+)"
#define LLMC_REST R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"

constexpr const char *llama3 =
    LLMC_CONTRACTIONS "|" LLMC_LETTERS R"(|\p{N}{1,3}|)" LLMC_REST;
constexpr const char *qwen2 = LLMC_CONTRACTIONS "|" LLMC_LETTERS R"(|\p{N}|)" LLMC_REST;
constexpr const char *qwen2LongDigits =
    LLMC_CONTRACTIONS "|" LLMC_LETTERS R"(|\p{N}+|)" LLMC_REST;
constexpr const char *qwen2NoContractions = LLMC_LETTERS R"(|\p{N}|)" LLMC_REST;
constexpr const char *qwen35 =
    LLMC_CONTRACTIONS R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*)"
                      R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char *jais2 =
    LLMC_CONTRACTIONS "|" LLMC_LETTERS
                      R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s{512}(?!\S))"
                      R"(|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S))"
                      R"(|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})";
constexpr const char *seedCoder =
    LLMC_CONTRACTIONS "|" LLMC_LETTERS
                      R"(|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char *bailing =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*)"
    R"(|\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr const char *exaoneMoe =
    LLMC_CONTRACTIONS R"(|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N})"
                      R"(| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)";

// GPT-4o and Tekken cut words where the case changes.
#define LLMC_UPPER R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"
#define LLMC_LOWER R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"
#define LLMC_CASED(suffix)                                                                         \
  R"([^\r\n\p{L}\p{N}]?)" LLMC_UPPER "*" LLMC_LOWER "+" suffix                                     \
  R"(|[^\r\n\p{L}\p{N}]?)" LLMC_UPPER "+" LLMC_LOWER "*" suffix
#define LLMC_REST_SLASH R"( ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"

constexpr const char *gpt4o =
    LLMC_CASED(LLMC_CONTRACTIONS "?") R"(|\p{N}{1,3}|)" LLMC_REST_SLASH;
constexpr const char *tekken = LLMC_CASED("") R"(|\p{N}|)" LLMC_REST_SLASH;
constexpr const char *youtuMain =
    LLMC_CASED(LLMC_CONTRACTIONS "?") R"(|\p{N}|)" LLMC_REST_SLASH;
constexpr const char *youtuCjk =
    "[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥぀-ゟ゠-ヿ]+";
constexpr const char *groupsFromTheEnd = R"(\d{1,3}(?=(?:\d{3})*\b))";

// Kimi K2: runs of Han characters apart from all other letters.
#define LLMC_KIMI_UPPER R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]])"
#define LLMC_KIMI_LOWER R"([\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]])"
constexpr const char *kimi =
    R"([\p{Han}]+|[^\r\n\p{L}\p{N}]?)" LLMC_KIMI_UPPER "*" LLMC_KIMI_LOWER
    "+" LLMC_CONTRACTIONS R"(?|[^\r\n\p{L}\p{N}]?)" LLMC_KIMI_UPPER "+" LLMC_KIMI_LOWER
    "*" LLMC_CONTRACTIONS R"(?|\p{N}{1,3}|)" LLMC_REST;

// DeepSeek.
constexpr const char *newline = R"([\r\n])";
// The cased letters of Unicode 11 as the file lists them. In numbers, because
// some change under normalization and editors normalize.
constexpr const char *deepseekLetters =
    R"(\s?[)"
    R"(\x{41}-\x{5A}\x{61}-\x{7A}\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA})"
    R"(\x{1BC}-\x{1BF}\x{1C4}-\x{293}\x{295}-\x{2AF}\x{370}-\x{373}\x{376}\x{377})"
    R"(\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1}\x{3A3}-\x{3F5})"
    R"(\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5})"
    R"(\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B})"
    R"(\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D})"
    R"(\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D})"
    R"(\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4})"
    R"(\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC})"
    R"(\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115})"
    R"(\x{2119}-\x{211D}\x{2124}\x{2126}\x{2128}\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139})"
    R"(\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184}\x{2C00}-\x{2C7B})"
    R"(\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D}\x{A680}-\x{A69B})"
    R"(\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF})"
    R"(\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A})"
    R"(\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2})"
    R"(\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943})"
    R"(]+)";
constexpr const char *deepseekMarks =
    R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)";
constexpr const char *deepseekCjk = R"([\x{4E00}-\x{9FA5}\x{800}-\x{4E00}\x{AC00}-\x{D7FF}]+)";
constexpr const char *deepseek3Cjk = R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)";
#define LLMC_DEEPSEEK3_WORDS                                                                       \
  R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
constexpr const char *deepseek3 =
    LLMC_DEEPSEEK3_WORDS R"(| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char *spark = LLMC_DEEPSEEK3_WORDS R"(| ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+)";

constexpr const char *falconMarks = R"([\p{P}\$\+<=>\^~\|`]+)";
constexpr const char *defaultMarks = R"([\p{P}\$\+<=>\^~\|]+)";
constexpr const char *bloom = R"( ?[^(\s|.,!?…。，、।۔،)]+)";
constexpr const char *lines = R"([^\n]+|[\n]+)";
constexpr const char *chameleonSentinel = "<sentinel:[0-9]+>";
constexpr const char *chameleonImage = "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z";
constexpr const char *chameleonSpaces = R"([\t\n]|    |  )";

struct Rule {
  const char *names; ///< separated by spaces
  std::array<const char *, 6> patterns;
  bool nfc = false;
  bool ignoreMerges = false;
  bool addBos = false;
};

const Rule *rules(size_t &count) {
  static const Rule table[] = {
      {"default", {defaultMarks, gpt2Pattern, R"(\p{N}+)", three}},
      {"gpt-2 phi-2 jina-es jina-de jina-v2-es jina-v2-de jina-v1-en jina-v2-code roberta-bpe "
       "gigachat a.x-4.0 mellum modern-bert exaone4 jais trillion granite-docling",
       {gpt2Pattern}},
      {"olmo mpt", {gpt2Pattern}, /*nfc=*/true},
      {"smollm starcoder refact codeshell exaone minerva-7b mellum2", {digit, gpt2Pattern}},
      {"command-r", {digit, gpt2Pattern}, /*nfc=*/true},
      {"llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano",
       {llama3},
       /*nfc=*/false,
       /*ignoreMerges=*/true,
       /*addBos=*/true},
      {"dbrx smaug-bpe glm4 chatglm-bpe", {llama3}},
      {"jais-2", {jais2}},
      {"qwen2", {qwen2}, /*nfc=*/true},
      {"stablelm2 deepseek-r1-qwen kormo f2llmv2 megrez hunyuan solar-open grok-2", {qwen2}},
      {"qwen35", {qwen35}, /*nfc=*/true},
      {"minicpm5", {upTo3Digits, qwen2LongDigits}, false, /*ignoreMerges=*/true},
      {"ufakzeka", {qwen2NoContractions}},
      {"laguna", {lines, qwen2}},
      {"seed-coder", {seedCoder}},
      {"bailingmoe bailingmoe2 llada-moe", {bailing}},
      {"exaone-moe", {exaoneMoe}},
      {"gpt-4o llama4 kanana2 talkie minimax-m2", {gpt4o}},
      {"granite-embed-multi-97m", {gpt4o}, false, /*ignoreMerges=*/true},
      {"tekken", {tekken}, false, /*ignoreMerges=*/true, /*addBos=*/true},
      {"tiny_aya cohere2moe", {groupsFromTheEnd, gpt4o}},
      {"youtu", {youtuCjk, youtuMain}, false, /*ignoreMerges=*/true},
      {"kimi-k2", {kimi}},
      {"deepseek-llm",
       {newline, deepseekLetters, deepseekMarks, R"(\s+$)", deepseekCjk, R"(\p{N}+)"}},
      {"deepseek-coder", {newline, R"(\s?\p{L}+)", R"(\s?\p{P}+)", deepseekCjk, digit}},
      {"deepseek-v3 hunyuan-dense joyai-llm hy_v4", {upTo3Digits, deepseek3Cjk, deepseek3}},
      {"spark2_5", {upTo3Digits, deepseek3Cjk, spark, digit}},
      {"falcon", {falconMarks, gpt2Pattern, three}},
      {"poro-chat bloom gpt3-finnish", {bloom}},
      {"viking", {bloom, digit}},
      {"superbpe", {R"(\p{N}+)", R"((?=(\d{3})+(?!\d)))"}},
      {"chameleon",
       {chameleonSentinel, chameleonImage, chameleonSpaces, digit, punctuationPattern,
        gpt2Pattern},
       false,
       false,
       /*addBos=*/true},
  };
  count = std::size(table);
  return table;
}

bool hasName(std::string_view names, std::string_view name) {
  while (!names.empty()) {
    size_t space = names.find(' ');
    if (names.substr(0, space) == name)
      return true;
    if (space == std::string_view::npos)
      break;
    names.remove_prefix(space + 1);
  }
  return false;
}

} // namespace

bool namedPreTokenizer(std::string_view name, NamedPreTokenizer &result) {
  size_t count;
  const Rule *table = rules(count);
  for (const Rule *rule = table; rule != table + count; ++rule) {
    if (!hasName(rule->names, name))
      continue;
    result = {};
    for (const char *pattern : rule->patterns)
      if (pattern)
        result.steps.push_back({PreTokenizerStep::Kind::Split, pattern});
    result.steps.push_back({PreTokenizerStep::Kind::ByteLevel, ""});
    if (rule->nfc)
      result.normalizers.push_back({NormalizerStep::Kind::Nfc});
    result.ignoreMerges = rule->ignoreMerges;
    result.addBosByDefault = rule->addBos;
    return true;
  }
  return false;
}

std::string namedPreTokenizerList() {
  size_t count;
  const Rule *table = rules(count);
  std::string list;
  for (const Rule *rule = table; rule != table + count; ++rule)
    list += (list.empty() ? "" : " ") + std::string(rule->names);
  return list;
}

} // namespace llmc::rt
