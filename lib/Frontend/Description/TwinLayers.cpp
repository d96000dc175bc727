//===- TwinLayers.cpp - fewer layers of every kind ------------------------===//
#include "TwinSearch.h"

#include "llmc/Support/Error.h"

#include <algorithm>

namespace llmc::frontend {

/// Ids beyond a small vocabulary become small ones, different ones different.
void TwinSearch::shrinkTokenIds() {
  Json config = now;
  std::vector<int64_t> seen;
  visitConfig(config, "", [&](const std::string &path, Json &json) {
    std::string place = path.substr(0, path.find("[]"));
    if (!json.isInt() || json.integer < 8 || !place.ends_with("token_id"))
      return;
    auto it = std::find(seen.begin(), seen.end(), json.integer);
    int64_t index = it - seen.begin();
    if (it == seen.end())
      seen.push_back(json.integer);
    // The first few are often there already.
    json.integer = 4 + index % 60;
  });
  std::optional<TwinShape> shape = shapeOf(config);
  if (!shape || !shape->keeps(original, needsRepeat))
    return;
  best = std::move(*shape);
  now = std::move(config);
}

/// The config keys that an expression over parameters depends on.
static void keysOf(const Description &description, const Expr &expr, const ParamDef *own,
                   std::set<std::string> &visited, std::set<std::string> &keys) {
  std::vector<std::string> names;
  collectNames(expr, names);
  for (const std::string &name : names) {
    const ParamDef *param = description.findParam(name);
    if (!param || param == own)
      keys.insert(name);
    else if (visited.insert(name).second)
      keysOf(description, *param->value, param, visited, keys);
  }
}

/// What the config matches by.
static bool isName(const std::string &path) {
  return path.ends_with("model_type") || path.ends_with("architectures[]");
}

/// Whether a list could be of the numbers of layers: ascending, none beyond them.
static bool isOfLayers(const Json &json, int64_t layers) {
  if (!json.isArray() || json.items.empty())
    return false;
  int64_t before = -1;
  for (const Json &item : json.items) {
    if (!item.isInt() || item.integer <= before || item.integer > layers)
      return false;
    before = item.integer;
  }
  return true;
}

bool TwinSearch::tryLayers(int64_t count, const std::vector<Json> &starts, const Move &move) {
  for (const Json &start : starts) {
    Json config = start;
    for (const auto &[number, value] : move)
      replaceNumber(config, number, value);
    if (!tried.insert(config.dump()).second)
      continue;
    std::optional<TwinShape> shape = shapeOf(config);
    if (!shape || int64_t(shape->schedule.size()) != count ||
        !shape->keeps(original, needsRepeat))
      continue;
    best = std::move(*shape);
    now = std::move(config);
    return true;
  }
  return false;
}

/// The smallest number of layers with all kinds among them: the first ones of the lists, or a
/// choice of one of each kind, and smaller values of what else decides the kinds (how many are
/// dense, how often one is different, how many share a state).
void TwinSearch::shrinkLayers() {
  int64_t layers = int64_t(original.schedule.size());
  std::shared_ptr<const ResolvedModel> model = resolve(now);
  std::set<std::string> visited, keys;
  keysOf(*model->description, *model->description->layerCount, nullptr, visited, keys);
  for (const auto &[from, to] : model->description->synonyms)
    if (keys.count(to))
      keys.insert(from);
  auto isCount = [&](const ConfigNumber &number) {
    return number.value == layers && keys.count(number.path.substr(number.path.rfind('.') + 1));
  };

  // Numbers that decide which layer is of which kind, and numbers that cannot be changed alone.
  std::vector<ConfigNumber> deciding, tied;
  for (const ConfigNumber &number : numbers()) {
    if (number.value > layers || isCount(number))
      continue;
    bool resolves = false, isDeciding = false;
    for (int64_t by : {-1, 1}) {
      Json config = now;
      replaceNumber(config, number, number.value + by);
      std::optional<TwinShape> shape = shapeOf(config);
      resolves |= shape.has_value();
      isDeciding |= shape && (shape->schedule != best.schedule || shape->kinds.size() !=
                                                                       best.kinds.size());
    }
    if (isDeciding)
      deciding.push_back(number);
    else if (!resolves)
      tied.push_back(number);
  }

  // One layer of each kind and its neighbours, for lists whose kinds lie far apart.
  std::vector<int64_t> chosen;
  for (int64_t i = 0; i < layers; ++i) {
    bool isNew = std::find(original.schedule.begin(), original.schedule.begin() + i,
                           original.schedule[size_t(i)]) == original.schedule.begin() + i;
    if (isNew || i + 1 == layers)
      chosen.push_back(i);
  }
  const Json whole = now;
  /// The config with only some layers in its lists; `base` is the number of the first layer in
  /// lists of numbers, below 0 where these stay.
  auto withLayers = [&](const std::vector<int64_t> &kept, int base) {
    Json config = whole;
    visitConfig(config, "", [&](const std::string &path, Json &json) {
      if (!decides(path))
        return;
      int64_t count = int64_t(kept.size());
      if (json.isInt() && isCount({path, json.integer}))
        json.integer = count;
      // A letter for each layer, of which there are few.
      if (json.isString() && int64_t(json.text.size()) == layers && !isName(path) &&
          std::set(json.text.begin(), json.text.end()).size() <= 8) {
        std::string text;
        for (int64_t layer : kept)
          text += json.text[size_t(layer)];
        json.text = text;
      }
      int64_t size = int64_t(json.items.size());
      // Layers for multi-token prediction may stand behind.
      if (json.isArray() && size >= layers && size < layers + 4 && size > 1) {
        std::vector<Json> items;
        for (int64_t layer : kept)
          items.push_back(json.items[size_t(layer)]);
        items.insert(items.end(), json.items.begin() + layers, json.items.end());
        json.items = std::move(items);
      } else if (base >= 0 && isOfLayers(json, layers)) {
        std::vector<Json> items;
        for (const Json &item : json.items) {
          auto it = std::find(kept.begin(), kept.end(), item.integer - base);
          if (it != kept.end())
            items.push_back(Json::makeInt(it - kept.begin() + base));
        }
        json.items = std::move(items);
      }
    });
    return config;
  };
  auto startsOf = [&](const std::vector<int64_t> &kept) {
    std::vector<Json> starts;
    for (int base : {1, 0, -1})
      if (Json config = withLayers(kept, base);
          std::find(starts.begin(), starts.end(), config) == starts.end())
        starts.push_back(std::move(config));
    return starts;
  };

  // A layer for each kind; one entry of the kinds is what is around the layers.
  int64_t least = int64_t(original.kinds.size()) - 1 + needsRepeat;
  constexpr size_t mostTries = 4000;
  for (int64_t count = std::max<int64_t>(least, 1); count < layers; ++count) {
    std::vector<int64_t> first(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i)
      first[size_t(i)] = i;
    std::vector<Json> starts = startsOf(first);
    if (tryLayers(count, starts, {}))
      return;
    // Those of each kind, with the layer after the first so that one kind is there twice.
    if (count == int64_t(chosen.size()) || count == int64_t(chosen.size()) + 1) {
      std::vector<int64_t> some = chosen;
      for (int64_t i = 0; count > int64_t(some.size()) && i < layers; ++i)
        if (std::find(some.begin(), some.end(), i) == some.end())
          some.push_back(i);
      std::sort(some.begin(), some.end());
      if (tryLayers(count, startsOf(some), {}))
        return;
    }
    // Beyond a period the other numbers change nothing.
    if (count > least + 16 || tried.size() > mostTries)
      continue;
    for (const auto *list : {&deciding, &tied})
      for (const ConfigNumber &number : *list)
        for (int64_t value = 1; value <= std::min(number.value - 1, count); ++value)
          if (tryLayers(count, starts, {{number, value}}))
            return;
    for (size_t a = 0; a < deciding.size(); ++a)
      for (size_t b = a + 1; b < deciding.size(); ++b)
        for (int64_t x = 1; x <= std::min(deciding[a].value - 1, count); ++x)
          for (int64_t y = 1; y <= std::min(deciding[b].value - 1, count); ++y)
            if (tryLayers(count, starts, {{deciding[a], x}, {deciding[b], y}}))
              return;
  }
}

} // namespace llmc::frontend
