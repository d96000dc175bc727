//===- MemoryPrinter.cpp - the memory report as JSON and text -------------===//
#include "llmc/Pipelines/MemoryPlan.h"

#include "llmc/Frontend/Json.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace llmc {

using frontend::Json;

static Json deviceJson(const DeviceMemory &device) {
  Json json = Json::makeObject(), items = Json::makeArray();
  json.set("name", Json::makeString(device.name));
  json.set("count", Json::makeInt(device.count));
  for (const MemoryItem &item : device.items) {
    Json entry = Json::makeObject();
    entry.set("arena", Json::makeString(item.arena));
    entry.set("name", Json::makeString(item.name));
    entry.set("bytes", Json::makeInt(item.bytes));
    entry.set("basis", Json::makeString(memoryBasisName(item.basis)));
    entry.set("formula", Json::makeString(item.formula));
    items.items.push_back(std::move(entry));
  }
  json.set("items", std::move(items));
  json.set("total", Json::makeInt(device.total()));
  return json;
}

static Json requestJson(const MemoryRequest &request) {
  Json json = Json::makeObject();
  auto set = [&](const char *name, int64_t value) { json.set(name, Json::makeInt(value)); };
  set("context", request.phase.deployment.maxContext);
  set("batch", request.batch);
  set("threads", request.threads);
  set("max_tokens", request.phase.deployment.maxTokens);
  set("max_outputs", std::min(request.phase.deployment.maxTokens, request.phase.deployment.maxOutputs));
  set("max_sequences", std::max(request.phase.deployment.maxSequences, request.batch));
  json.set("kv_dtype", Json::makeString(request.kvType.empty() ? "f32" : request.kvType));
  set("tp", request.tensor);
  set("pp", request.pipeline);
  set("ep", request.expert);
  set("cp", request.context);
  json.set("memory", request.memory ? Json::makeInt(*request.memory) : Json());
  set("headroom", request.headroom);
  return json;
}

static Json numberOrNull(const std::optional<int64_t> &number) {
  return number ? Json::makeInt(*number) : Json();
}

std::string MemoryReport::toJson() const {
  Json root = Json::makeObject(), list = Json::makeArray(), points = Json::makeArray(),
       steps = Json::makeArray(), texts = Json::makeArray();
  root.set("model", Json::makeString(model));
  root.set("target", Json::makeString(target));
  root.set("context_limit", Json::makeInt(contextLimit));
  root.set("deployment", requestJson(request));
  for (const DeviceMemory &device : devices)
    list.items.push_back(deviceJson(device));
  root.set("devices", std::move(list));
  root.set("fullest", Json::makeInt(fullest().total()));
  root.set("allocated", numberOrNull(allocated));
  root.set("why_not_allocated", Json::makeString(whyNotAllocated));
  for (const Chunk &chunk : chunks) {
    Json entry = Json::makeObject();
    entry.set("tokens", Json::makeInt(chunk.tokens));
    entry.set("outputs", Json::makeInt(chunk.outputs));
    entry.set("bytes", Json::makeInt(chunk.bytes));
    entry.set("lower_bound", Json::makeInt(chunk.lowerBound));
    entry.set("optimal", Json::makeBool(chunk.optimal));
    steps.items.push_back(std::move(entry));
  }
  root.set("activations_by_chunk", std::move(steps));
  for (const Point &point : curve) {
    Json entry = Json::makeObject();
    entry.set("context", Json::makeInt(point.context));
    entry.set("state", Json::makeInt(point.state));
    entry.set("total", Json::makeInt(point.total));
    points.items.push_back(std::move(entry));
  }
  root.set("curve", std::move(points));
  root.set("largest_context", numberOrNull(largestContext));
  root.set("largest_batch", numberOrNull(largestBatch));
  for (const std::string &note : notes)
    texts.items.push_back(Json::makeString(note));
  root.set("notes", std::move(texts));
  return root.dump() + "\n";
}

/// 327680000000 as "327.68 GB".
static std::string amount(int64_t bytes) {
  static constexpr const char *units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  double value = double(bytes);
  size_t unit = 0;
  while (value >= 999.995 && unit + 1 < std::size(units)) {
    value /= 1000;
    ++unit;
  }
  return unit ? formatv("{0:f2} {1}", value, units[unit]).str() : formatv("{0} B", bytes).str();
}

static std::string right(const std::string &text, size_t width) {
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}
static std::string left(const std::string &text, size_t width) {
  return text + std::string(width > text.size() ? width - text.size() : 0, ' ');
}

static void printDevice(std::string &out, const DeviceMemory &device) {
  size_t names = 0;
  for (const MemoryItem &item : device.items)
    names = std::max(names, item.name.size());
  auto line = [&](const std::string &arena, const std::string &name, int64_t bytes,
                  const std::string &rest) {
    std::string text = left(arena, 15) + left(name, names + 2) +
                       right(std::to_string(bytes), 17) + right(amount(bytes), 12) + "  " + rest;
    out += StringRef(text).rtrim().str() + "\n";
  };
  out += (device.count == 1 ? "one device" : "each of " + std::to_string(device.count) + " devices") +
         ", " + device.name + "\n";
  const std::string *arena = nullptr;
  for (const MemoryItem &item : device.items) {
    bool isNew = !arena || *arena != item.arena;
    arena = &item.arena;
    line(isNew ? item.arena : "", item.name, item.bytes,
         left(memoryBasisName(item.basis), 9) + item.formula);
  }
  line("total", "", device.total(), "");
}

/// What the compiler must be told besides its defaults to plan for this deployment, as flags.
static std::string compileFlags(const MemoryReport &report) {
  const DeploymentOptions &asked = report.request.phase.deployment, usual;
  int64_t context = report.contextLimit ? std::min<int64_t>(report.contextLimit, 4096) : 4096;
  std::string flags;
  for (auto [name, value, byDefault] :
       {std::tuple("tokens", asked.maxTokens, usual.maxTokens),
        {"outputs", asked.maxOutputs, usual.maxOutputs},
        {"sequences", std::max(asked.maxSequences, report.request.batch), usual.maxSequences},
        {"context", asked.maxContext, context}})
    if (value != byDefault)
      flags += formatv(" --max-{0}={1}", name, value);
  return flags;
}

std::string MemoryReport::toText() const {
  const DeploymentOptions &deployment = request.phase.deployment;
  std::string out =
      formatv("{0} on {1}: context {2}, batch {3}, state of {4}", model, target,
              deployment.maxContext, request.batch, request.kvType.empty() ? "f32" : request.kvType);
  for (auto [name, degree] : {std::pair("tp", request.tensor), {"pp", request.pipeline},
                              {"ep", request.expert}, {"cp", request.context}})
    if (degree > 1)
      out += formatv(", {0} {1}", name, degree);
  out += "\n";
  for (const DeviceMemory &device : devices)
    printDevice(out, device);
  if (allocated) {
    std::string flags = compileFlags(*this);
    out += formatv("llmc run allocates {0} bytes with --context {1} --threads {2} and {3} "
                   "sequence{4}{5}\n",
                   *allocated, deployment.maxContext, request.threads, request.batch,
                   request.batch == 1 ? "" : "s", flags.empty() ? "" : ", compiled with" + flags);
  } else
    out += "nothing of this is allocated yet: " + whyNotAllocated + "\n";
  if (!chunks.empty()) {
    out += "activations by the tokens of the largest step (--max-tokens)\n";
    for (const Chunk &chunk : chunks)
      out += right(std::to_string(chunk.tokens), 10) + right(amount(chunk.bytes), 12) +
             (chunk.bytes == chunk.lowerBound
                  ? std::string("  no schedule of these steps takes less")
                  : formatv("  {0} over the bound, {1}", amount(chunk.bytes - chunk.lowerBound),
                            chunk.optimal ? "which nothing reaches" : "perhaps not the least")
                        .str()) +
             "\n";
  }
  out += "by context: state and total" + std::string(devices.size() > 1 ? " of the fullest device" : "") +
         "\n";
  for (const Point &point : curve)
    out += right(std::to_string(point.context), 10) + right(amount(point.state), 12) +
           right(amount(point.total), 12) + "\n";
  if (request.memory) {
    auto fits = [](int64_t number) { return number ? std::to_string(number) : std::string("none"); };
    out += formatv("in {0} fit: context {1} at batch {2}, batch {3} at context {4}\n",
                   amount(*request.memory), fits(*largestContext), request.batch,
                   fits(*largestBatch), deployment.maxContext);
    if (int64_t total = fullest().total(); total > *request.memory)
      out += formatv("what is asked for does not fit: {0} more are needed\n",
                     amount(total - *request.memory));
  }
  for (const std::string &note : notes)
    out += "note: " + note + "\n";
  return out;
}

} // namespace llmc
