//===- TwinSearch.cpp - smaller numbers for a config ----------------------===//
//
// A descent: a number alone, two by one ratio, or all widths at once become smaller
// as long as the config still resolves and everything holds that a twin keeps. What
// refers to each other (heads and their widths, groups of experts, halves of a
// rotation) needs no table here: a step that breaks it is refused.
//
//===----------------------------------------------------------------------===//
#include "TwinSearch.h"

#include "llmc/Support/Error.h"

#include <algorithm>

namespace llmc::frontend {

void visitConfig(Json &json, const std::string &path,
                 const std::function<void(const std::string &, Json &)> &visit) {
  visit(path, json);
  for (Json &item : json.items)
    visitConfig(item, path + "[]", visit);
  for (JsonMember &member : json.members)
    visitConfig(member.second, path.empty() ? member.first : path + "." + member.first, visit);
}

void replaceNumber(Json &config, const ConfigNumber &number, int64_t value) {
  visitConfig(config, "", [&](const std::string &path, Json &json) {
    if (json.isInt() && json.integer == number.value && path == number.path)
      json.integer = value;
  });
}

TwinSearch::TwinSearch(Json config, Resolve resolve)
    : resolve(std::move(resolve)), now(std::move(config)) {
  best = original = TwinShape::of(*this->resolve(now));
  needsRepeat = original.repeats;
}

std::optional<TwinShape> TwinSearch::shapeOf(const Json &config) const {
  try {
    return TwinShape::of(*resolve(config));
  } catch (const InputError &) {
    return std::nullopt;
  }
}

bool TwinSearch::decides(const std::string &path) const {
  std::string place = path.substr(0, path.find("[]"));
  for (;;) {
    if (best.keys.count(place))
      return true;
    size_t dot = place.rfind('.');
    if (dot == std::string::npos)
      return false;
    place.resize(dot);
  }
}

std::vector<ConfigNumber> TwinSearch::numbers() const {
  std::vector<ConfigNumber> out;
  Json config = now;
  visitConfig(config, "", [&](const std::string &path, Json &json) {
    if (!json.isInt() || json.integer < 2 || !decides(path))
      return;
    ConfigNumber number{path, json.integer};
    if (std::find(out.begin(), out.end(), number) == out.end())
      out.push_back(std::move(number));
  });
  return out;
}

std::vector<TwinKey> TwinSearch::largeKeys() const {
  constexpr size_t longList = 16;
  constexpr int64_t large = 128;
  std::vector<TwinKey> out;
  Json config = now;
  for (const ConfigNumber &number : numbers()) {
    if (number.value <= large)
      continue;
    replaceNumber(config, number, number.value / 2);
    // No size, such as a base of rotations, changes no tensor.
    if (std::optional<TwinShape> other = shapeOf(config); !other || other->tensors != best.tensors)
      out.push_back({number.path, std::to_string(number.value)});
    config = now;
  }
  visitConfig(config, "", [&](const std::string &path, Json &json) {
    if (json.isArray() && json.items.size() > longList && decides(path))
      out.push_back({path, std::to_string(json.items.size()) + " values"});
  });
  return out;
}

bool TwinSearch::take(const Json &config) {
  // What was refused once would cost less than what is there now no more than then.
  if (!tried.insert(config.dump()).second)
    return false;
  std::optional<TwinShape> shape = shapeOf(config);
  if (!shape || !shape->keeps(original, needsRepeat) || shape->cost() >= best.cost() - 1e-9)
    return false;
  best = std::move(*shape);
  now = config;
  return true;
}

/// A list of numbers for each pair of a rotation keeps every so many of them.
static void thinLists(Json &config, const std::set<int64_t> &lengths, int64_t from, int64_t to) {
  visitConfig(config, "", [&](const std::string &, Json &json) {
    int64_t size = int64_t(json.items.size());
    bool isNumbers = std::all_of(json.items.begin(), json.items.end(),
                                 [](const Json &item) { return item.isNumber(); });
    if (!json.isArray() || size < 2 || !isNumbers || !lengths.count(size) || size * to % from)
      return;
    int64_t left = size * to / from;
    std::vector<Json> kept;
    for (int64_t i = 0; i < left; ++i)
      kept.push_back(json.items[size_t(i * size / left)]);
    json.items = std::move(kept);
  });
}

bool TwinSearch::takeMove(const Move &move) {
  Json config = now;
  for (const auto &[number, value] : move)
    replaceNumber(config, number, value);
  if (take(config))
    return true;
  // Heads become narrower by this ratio, or wider by it while their number falls.
  int64_t from = move.front().first.value, to = move.front().second;
  for (auto [a, b] : {std::pair(from, to), std::pair(to, from)}) {
    Json thinned = config;
    if (a > 0 && b < a)
      thinLists(thinned, best.rotaryPairs, a, b);
    if (!(thinned == config) && take(thinned))
      return true;
  }
  return false;
}

/// All widths by one ratio: what a sum or product ties together stays tied. Counts are told from
/// widths by what another value changes.
void TwinSearch::shrinkWidths() {
  using What = TwinFact::What;
  auto countsOf = [](const TwinShape &shape) {
    std::vector<int64_t> counts;
    for (const auto &[text, facts] : shape.kinds)
      for (const TwinFact &fact : facts)
        if (fact.what != What::HeadWidth && fact.what != What::RotaryWidth)
          counts.push_back(fact.value);
    counts.push_back(int64_t(shape.schedule.size()));
    counts.push_back(shape.vocabulary);
    counts.push_back(shape.context);
    return counts;
  };
  std::vector<ConfigNumber> widths, tied;
  std::vector<int64_t> counts = countsOf(best);
  for (const ConfigNumber &number : numbers()) {
    if (number.value < 16)
      continue;
    std::optional<TwinShape> other;
    for (int64_t value : {number.value / 2, number.value * 2, number.value - 1, number.value + 1}) {
      Json config = now;
      replaceNumber(config, number, value);
      if ((other = shapeOf(config)))
        break;
    }
    if (!other)
      tied.push_back(number);
    else if (other->tensors != best.tensors && countsOf(*other) == counts)
      widths.push_back(number);
  }
  for (bool alsoTied : {true, false}) {
    std::vector<ConfigNumber> all = widths;
    if (alsoTied)
      all.insert(all.end(), tied.begin(), tied.end());
    for (bool isTaken = !all.empty(); isTaken;) {
      Move move;
      for (const ConfigNumber &number : all)
        if (number.value % 2 == 0 && number.value >= 16)
          move.emplace_back(number, number.value / 2);
      isTaken = !move.empty() && takeMove(move);
      for (ConfigNumber &number : all)
        if (isTaken && number.value % 2 == 0 && number.value >= 16)
          number.value /= 2;
      if (isTaken)
        widths.clear();
    }
  }
}

static constexpr int64_t small[] = {1,  2,  3,  4,  5,  6,  8,   10,  12,  16,  20,  24,
                                    32, 40, 48, 64, 80, 96, 128, 192, 256, 512, 1024};

bool TwinSearch::shrinkSingly() {
  bool isAny = false;
  for (const ConfigNumber &number : numbers()) {
    bool isTaken = false;
    for (int64_t value : small)
      if (value < number.value && (isTaken = takeMove({{number, value}})))
        break;
    for (int64_t by : {8, 7, 5, 4, 3, 2})
      if (!isTaken && number.value % by == 0)
        isTaken = takeMove({{number, number.value / by}});
    isAny |= isTaken;
  }
  return isAny;
}

/// Two by one ratio; where they stay, all that are equal to either (heads of queries and of keys,
/// a width that two keys say).
bool TwinSearch::shrinkInPairs() {
  bool isAny = false;
  std::vector<ConfigNumber> all = numbers();
  auto takeAll = [&](const std::vector<size_t> &which, int64_t by) {
    Move move;
    for (size_t i : which)
      move.emplace_back(all[i], all[i].value / by);
    if (!takeMove(move))
      return false;
    for (size_t i : which)
      all[i].value /= by;
    return isAny = true;
  };
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t j = i + 1; j < all.size(); ++j)
      for (int64_t by : {16, 8, 7, 5, 4, 3, 2}) {
        if (all[i].value % by || all[j].value % by || takeAll({i, j}, by))
          continue;
        bool isTaken = false;
        for (auto [first, second] : {std::pair(true, false), {false, true}, {true, true}}) {
          std::vector<size_t> alike;
          for (size_t k = 0; k < all.size(); ++k)
            if (k == i || k == j || (first && all[k].value == all[i].value) ||
                (second && all[k].value == all[j].value))
              alike.push_back(k);
          if (!isTaken && alike.size() > 2)
            isTaken = takeAll(alike, by);
        }
      }
  return isAny;
}

/// Where the keys of the language model stand.
static Json &placeOf(Json &config) {
  Json *inner = config.find("text_config");
  return inner && inner->isObject() ? *inner : config;
}

/// Keys that the config leaves out and parameters read, with what these parameters are.
std::vector<std::pair<std::string, Value>> TwinSearch::absentKeys() const {
  std::shared_ptr<const ResolvedModel> model = resolve(now);
  std::set<std::string> present;
  Json config = now;
  visitConfig(config, "", [&](const std::string &path, Json &) {
    present.insert(path.substr(path.rfind('.') + 1));
  });
  for (const auto &[from, to] : model->description->synonyms)
    if (present.count(from))
      present.insert(to);
  std::vector<std::pair<std::string, Value>> out;
  for (const ParamDef &def : model->description->params) {
    auto value = model->params.find(def.name);
    std::vector<std::string> names;
    if (value != model->params.end())
      collectNames(*def.value, names);
    for (const std::string &name : names) {
      const ParamDef *other = model->description->findParam(name);
      if ((!other || other == &def) && !isBuiltinFunction(name) && !present.count(name))
        out.emplace_back(name, value->second);
    }
  }
  return out;
}

/// Bounds of values, which need not be whole numbers, of the config and of its defaults: so that
/// clamps and softcaps change something.
void TwinSearch::shrinkBounds() {
  constexpr double reached = 2;
  std::set<std::pair<std::string, double>> reals;
  Json config = now;
  visitConfig(config, "", [&](const std::string &path, Json &json) {
    if (json.isNumber() && !json.isInt() && json.number > reached && decides(path))
      reals.emplace(path, json.number);
  });
  for (const auto &[place, value] : reals) {
    config = now;
    visitConfig(config, "", [&, place = place, value = value](const std::string &path, Json &json) {
      if (json.isNumber() && !json.isInt() && json.number == value && path == place)
        json = Json::makeDouble(reached);
    });
    take(config);
  }
  for (const auto &[name, value] : absentKeys()) {
    const double *number = value.get<double>();
    if (!number || *number <= reached)
      continue;
    config = now;
    placeOf(config).set(name, Json::makeDouble(reached));
    take(config);
  }
}

/// Keys that the config leaves out have the defaults of their class, which may be large: they are
/// written down, so that the descent reaches them.
bool TwinSearch::addAbsent() {
  std::set<std::string> looked;
  size_t before = added.size();
  for (const auto &[name, value] : absentKeys()) {
    const int64_t *number = value.get<int64_t>();
    if (!number || *number <= 8 || !looked.insert(name).second)
      continue;
    Json changed = now;
    placeOf(changed).set(name, Json::makeInt(*number));
    std::optional<TwinShape> shape = shapeOf(changed);
    if (!shape || shape->tensors != best.tensors || shape->cost() != best.cost() ||
        !shape->keeps(original, needsRepeat))
      continue;
    now = std::move(changed);
    best = std::move(*shape);
    added.push_back(name);
  }
  return added.size() > before;
}

/// Those of them go again that need not be said.
void TwinSearch::removeAdded() {
  for (const std::string &name : added) {
    Json changed = now;
    std::erase_if(placeOf(changed).members,
                  [&](const JsonMember &member) { return member.first == name; });
    std::optional<TwinShape> shape = shapeOf(changed);
    if (shape && shape->tensors == best.tensors && shape->cost() == best.cost() &&
        shape->keeps(original, needsRepeat)) {
      now = std::move(changed);
      best = std::move(*shape);
    }
  }
}

void TwinSearch::run() {
  shrinkTokenIds();
  shrinkLayers();
  shrinkWidths();
  constexpr int mostRounds = 12;
  for (int round = 0; round < mostRounds; ++round) {
    bool isAny = shrinkSingly();
    isAny |= shrinkInPairs();
    if (!isAny && !addAbsent())
      break;
  }
  removeAdded();
  shrinkBounds();
}

} // namespace llmc::frontend
