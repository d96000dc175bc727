//===- QuantScheme.cpp - what a config says of quantised weights ----------===//
#include "llmc/Frontend/PairedTensors.h"

#include "llmc/Support/Error.h"

#include <algorithm>
#include <initializer_list>

namespace llmc::frontend {

namespace {

class SchemeReader {
public:
  SchemeReader(const Json &config, const std::string &file) : root(config), file(file) {}

  QuantScheme read() {
    if (!root.isObject())
      fail("quantization_config", root, "an object");
    scheme.method = text("quant_method");
    if (scheme.method.empty() && root.find("quant_algo"))
      scheme.method = "modelopt";
    if (scheme.method.empty())
      throw InputError(file + ": quantization_config has no 'quant_method': " + root.dump(80));
    if (scheme.method == "fp8" || scheme.method == "fbgemm_fp8" || scheme.method == "mxfp8")
      readFp8();
    else if (scheme.method == "compressed-tensors")
      readGroups();
    else if (scheme.method == "modelopt" || scheme.method == "modelopt_fp4" ||
             scheme.method == "modelopt_mixed")
      readModelopt();
    else if (scheme.method == "awq" || scheme.method == "gptq")
      readPacked();
    else if (scheme.method == "mxfp4")
      known({"modules_to_not_convert", "quant_method", "dequantize"});
    else
      unreadable();
    return std::move(scheme);
  }

private:
  [[noreturn]] void fail(const std::string &key, const Json &value, const std::string &wanted) {
    throw InputError(file + ": key '" + key + "' = " + value.dump(60) + " must be " + wanted);
  }
  std::string text(const char *key) {
    const Json *value = root.find(key);
    if (!value || value->isNull())
      return {};
    if (!value->isString())
      fail(std::string("quantization_config.") + key, *value, "text");
    return value->text;
  }
  int64_t number(const Json &parent, const std::string &path, const char *key,
                 std::initializer_list<int64_t> allowed) {
    const Json *value = parent.find(key);
    if (!value || value->isNull())
      return 0;
    if (!value->isInt() ||
        std::find(allowed.begin(), allowed.end(), value->integer) == allowed.end()) {
      std::string list;
      for (int64_t one : allowed)
        list += (list.empty() ? "one of " : ", ") + std::to_string(one);
      fail(path + "." + key, *value, list);
    }
    return value->integer;
  }
  /// Everything else at the top is a key that nobody knows.
  void known(std::initializer_list<const char *> keys) {
    for (const auto &member : root.members)
      if (std::none_of(keys.begin(), keys.end(),
                       [&](const char *key) { return member.first == key; }))
        scheme.unknownKeys["quantization_config." + member.first] = member.second.dump(80);
  }
  void readBlock(const Json *block, const std::string &path) {
    if (!block || block->isNull())
      return;
    bool good = block->isArray() && block->items.size() == 2;
    for (const Json &size : block->items)
      good &= size.isInt() && size.integer >= 1 && size.integer <= (int64_t(1) << 20);
    if (!good)
      fail(path, *block, "null or two positive sizes");
    scheme.blockRows = block->items[0].integer;
    scheme.blockColumns = block->items[1].integer;
  }

  void readFp8() {
    known({"quant_method", "activation_scheme", "fmt", "weight_block_size", "scale_fmt",
           "modules_to_not_convert", "ignored_layers", "dequantize", "activation_scale_ub",
           "act_per_tensor", "weight_per_tensor",
           // What modelopt adds where only the experts are of another format.
           "config_groups", "ignore", "quant_algo", "moe_quant_algo", "kv_cache_quant_algo",
           "kv_cache_scheme", "group_size", "producer", "quantized_layers"});
    std::string format = text("fmt");
    if (!format.empty() && format != "e4m3" && format != "float8_e4m3fn")
      fail("quantization_config.fmt", *root.find("fmt"), "\"e4m3\"");
    readBlock(root.find("weight_block_size"), "quantization_config.weight_block_size");
    scheme.powers = scheme.method == "mxfp8";
    if (scheme.powers && scheme.blockColumns && (scheme.blockRows != 1 || scheme.blockColumns != 32))
      fail("quantization_config.weight_block_size", *root.find("weight_block_size"),
           "[1, 32] for mxfp8");
  }

  void readGroups() {
    known({"quant_method", "format", "config_groups", "ignore", "kv_cache_scheme",
           "quantization_status", "global_compression_ratio", "sparsity_config",
           "transform_config", "version"});
    const Json *sparsity = root.find("sparsity_config");
    if (sparsity && sparsity->isObject() && !sparsity->members.empty()) {
      const Json *format = sparsity->find("format");
      if (!format || !format->isString() || format->text != "dense")
        refuse("its sparsity_config, which says that weights are stored sparse");
    }
    const Json *transform = root.find("transform_config");
    if (transform && transform->isObject() && !transform->members.empty())
      refuse("its transform_config, which says that weights are rotated");
    const Json *groups = root.find("config_groups");
    for (const auto &[name, group] : groups ? groups->members : std::vector<JsonMember>())
      readGroup(group, "quantization_config.config_groups." + name);
  }
  void readGroup(const Json &group, const std::string &path) {
    const Json *weights = group.find("weights");
    if (!weights || !weights->isObject())
      return;
    int64_t bits = number(*weights, path + ".weights", "num_bits", {4, 8});
    const Json *type = weights->find("type");
    if (type && type->isString() && type->text == "int" && bits)
      scheme.bits = bits;
    readBlock(weights->find("block_structure"), path + ".weights.block_structure");
  }
  void readModelopt() {
    known({"quant_method", "quant_algo", "config_groups", "ignore", "exclude_modules",
           "kv_cache_scheme", "kv_cache_quant_algo", "group_size", "producer", "quantized_layers",
           "moe_quant_algo", "awq_block_size", "has_zero_point", "pre_quant_scale",
           "smoothquant_val"});
    std::string algorithm = text("quant_algo");
    static const char *const readable[] = {"", "FP8", "NVFP4", "MIXED_PRECISION", "FP8_PB_WO",
                                           "FP8_PER_CHANNEL_PER_TOKEN", "W4A16_NVFP4", "MXFP8"};
    if (std::none_of(std::begin(readable), std::end(readable),
                     [&](const char *name) { return algorithm == name; }))
      refuse("quant_algo " + algorithm);
    scheme.powers = algorithm == "MXFP8";
  }
  void readPacked() {
    known({"quant_method", "bits", "group_size", "zero_point", "version", "backend", "do_fuse",
           "fuse_max_seq_len", "modules_to_fuse", "modules_to_not_convert", "exllama_config",
           "desc_act", "sym", "damp_percent", "static_groups", "true_sequential",
           "model_name_or_path", "model_file_base_name", "checkpoint_format", "dataset",
           "tokenizer", "block_name_to_quantize", "module_name_preceding_first_block",
           "batch_size", "pad_token_id", "use_exllama", "use_cuda_fp16", "max_input_length",
           "cache_block_outputs", "modules_in_block_to_quantize", "model_seqlen", "meta", "lm_head",
           "quant_type", "dynamic", "use_triton", "disable_exllama", "quantizer"});
    bool awq = scheme.method == "awq";
    scheme.bits = number(root, "quantization_config", "bits", {2, 3, 4, 8});
    if (!scheme.bits)
      scheme.bits = 4;
    if (scheme.bits != 4 && (awq || scheme.bits != 8))
      refuse(std::to_string(scheme.bits) + " bits");
    if (std::string version = text("version");
        awq && version != "" && version != "gemm" && version != "GEMM")
      refuse("the layout '" + version + "'");
    scheme.plainZeros = text("checkpoint_format") == "gptq_v2";
    if (const Json *dynamic = root.find("dynamic");
        dynamic && dynamic->isObject() && !dynamic->members.empty())
      refuse("'dynamic', bits that differ between modules");
  }
  void unreadable() {
    if (scheme.method == "bitsandbytes")
      refuse("blocks whose values are looked up in a table of the checkpoint");
    else
      refuse("a method that llmc does not know");
  }
  void refuse(const std::string &what) {
    scheme.readable = false;
    scheme.reason = scheme.method + " (" + what + ")";
  }

  const Json &root;
  const std::string &file;
  QuantScheme scheme;
};

} // namespace

QuantScheme readQuantScheme(const Json &config, const std::string &file) {
  return SchemeReader(config, file).read();
}

} // namespace llmc::frontend
