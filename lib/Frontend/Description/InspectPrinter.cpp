//===- InspectPrinter.cpp - the report as JSON and as text ----------------===//
#include "llmc/Frontend/Inspect.h"
#include "llmc/Support/Printable.h"

namespace llmc::frontend {

static Json listOf(const std::vector<std::string> &texts) {
  Json list = Json::makeArray();
  for (const std::string &text : texts)
    list.items.push_back(Json::makeString(text));
  return list;
}

static Json tensorsOf(const std::vector<InspectReport::Tensor> &tensors) {
  Json list = Json::makeArray();
  for (const InspectReport::Tensor &tensor : tensors) {
    Json entry = Json::makeObject(), shape = Json::makeArray();
    for (int64_t dim : tensor.shape)
      shape.items.push_back(Json::makeInt(dim));
    entry.set("name", Json::makeString(tensor.name));
    entry.set("shape", std::move(shape));
    entry.set("count", Json::makeInt(tensor.count));
    list.items.push_back(std::move(entry));
  }
  return list;
}

std::string InspectReport::toJson() const {
  if (!asIf.empty()) {
    // Nothing is known of a model that no description matches.
    InspectReport known;
    known.architecture = architecture;
    known.description = description;
    known.target = target;
    known.verdict = verdict;
    known.reasons = reasons;
    known.keysUsed = keysUsed;
    known.keysIrrelevant = keysIrrelevant;
    known.keysUnknown = keysUnknown;
    known.assumedTensors = assumedTensors;
    return known.toJson();
  }
  Json root = Json::makeObject();
  root.set("architecture", Json::makeString(architecture));
  root.set("description", Json::makeString(description));
  root.set("target", Json::makeString(target));
  root.set("verdict", Json::makeString(verdictName(verdict)));
  root.set("reasons", listOf(reasons));
  Json parameters = Json::makeObject();
  parameters.set("total", Json::makeInt(parametersTotal));
  parameters.set("total_with_tied", Json::makeInt(parametersWithTied));
  parameters.set("active", Json::makeInt(parametersActive));
  root.set("parameters", std::move(parameters));
  Json keys = Json::makeObject();
  keys.set("used", listOf(keysUsed));
  keys.set("irrelevant", listOf(keysIrrelevant));
  keys.set("unknown", listOf(keysUnknown));
  root.set("config_keys", std::move(keys));
  root.set("tensors", tensorsOf(tensors));
  root.set("mtp", tensorsOf(mtp));
  root.set("assumed_tensors", tensorsOf(assumedTensors));
  Json full = Json::makeObject();
  full.set("layers", Json::makeInt(fullAttentionLayers));
  full.set("bytes_per_token_bf16", Json::makeInt(fullAttentionBytesPerTokenBf16));
  Json windowList = Json::makeArray();
  for (const Window &window : windows) {
    Json entry = Json::makeObject();
    entry.set("window", Json::makeInt(window.window));
    entry.set("layers", Json::makeInt(window.layers));
    entry.set("bytes_per_token_bf16", Json::makeInt(window.bytesPerTokenBf16));
    windowList.items.push_back(std::move(entry));
  }
  Json recurrent = Json::makeObject();
  recurrent.set("state_elements", Json::makeInt(recurrentStateElements));
  recurrent.set("conv_elements", Json::makeInt(recurrentConvElements));
  recurrent.set("buffer_elements", Json::makeInt(recurrentBufferElements));
  Json state = Json::makeObject();
  state.set("full_attention", std::move(full));
  state.set("window", std::move(windowList));
  state.set("recurrent", std::move(recurrent));
  root.set("state", std::move(state));
  return root.dump() + "\n";
}

/// 134515008 as "134.5 M".
static std::string rounded(int64_t number) {
  double value = double(number);
  const char *unit = "";
  for (const char *next : {" K", " M", " G", " T"}) {
    if (value < 1000)
      break;
    value /= 1000;
    unit = next;
  }
  char text[32];
  std::snprintf(text, sizeof text, *unit ? "%.1f%s" : "%.0f%s", value, unit);
  return text;
}

std::string InspectReport::toText() const {
  std::string out = architecture + ": " + verdictName(verdict) + " on " + target + "\n";
  out += "description  " + description + "\n";
  if (!asIf.empty())
    out += "as if it were '" + asIf + "':\n";
  out += "parameters   " + std::to_string(parametersTotal) + " (" + rounded(parametersTotal) + ")";
  if (parametersWithTied != parametersTotal)
    out += ", with tied copies " + std::to_string(parametersWithTied);
  if (parametersActive != parametersTotal)
    out += ", of which a token takes " + std::to_string(parametersActive) + " (" +
           rounded(parametersActive) + ")";
  out += "\nstate        ";
  if (fullAttentionLayers)
    out += std::to_string(fullAttentionLayers) + " layers of full attention, " +
           std::to_string(fullAttentionBytesPerTokenBf16) + " bytes a token in bf16";
  for (const Window &window : windows)
    out += (&window != windows.data() || fullAttentionLayers ? "; " : "") +
           std::to_string(window.layers) + " layers with a window of " +
           std::to_string(window.window) + ", " + std::to_string(window.bytesPerTokenBf16) +
           " bytes a token in bf16";
  if (recurrentBufferElements)
    out += std::string(fullAttentionLayers || !windows.empty() ? "; " : "") +
           std::to_string(recurrentBufferElements) + " elements a sequence of tokens that wait";
  if (recurrentStateElements || recurrentConvElements)
    out += std::string(fullAttentionLayers || !windows.empty() || recurrentBufferElements ? "; "
                                                                                        : "") +
           std::to_string(recurrentStateElements + recurrentConvElements) +
           " elements a sequence, " + std::to_string(recurrentConvElements) +
           " of them of convolutions";
  out += "\nconfig keys  " + std::to_string(keysUsed.size()) + " used, " +
         std::to_string(keysIrrelevant.size()) + " irrelevant, " +
         std::to_string(keysUnknown.size()) + " unknown\ntensors" +
         (assumedTensors.empty() ? "" : ", whose names and shapes are assumed") + "\n";
  for (const Tensor &tensor : tensors)
    out += "  " + std::to_string(tensor.count) + " x " + tensor.name + " " +
           shapeText(tensor.shape) + "\n";
  if (!mtp.empty()) {
    out += "tensors for multi-token prediction, which are left out and not counted\n";
    for (const Tensor &tensor : mtp)
      out += "  " + std::to_string(tensor.count) + " x " + tensor.name + " " +
             shapeText(tensor.shape) + "\n";
  }
  if (!reasons.empty())
    out += "reasons\n";
  for (const std::string &reason : reasons)
    out += "  " + reason + "\n";
  return printable(out);
}

} // namespace llmc::frontend
