//===- JsonMutator.cpp - changes that leave JSON well-formed --------------===//
#include "Support.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

using nlohmann::ordered_json;

namespace llmc::fuzz {

namespace {

class Mutator {
public:
  explicit Mutator(unsigned seed) : random(seed) {}

  void mutate(ordered_json &root) {
    collect(root, nullptr);
    Place place = places[pick(places.size())];
    switch (pick(6)) {
    case 0:
      return drop(place);
    case 1:
      return repeat(place);
    case 2: // something from elsewhere in its place
      if (ordered_json other = *places[pick(places.size())].value; other.dump().size() < 4096)
        *place.value = std::move(other);
      return;
    case 3:
      return rename(place);
    default:
      return change(*place.value);
    }
  }

private:
  struct Place {
    ordered_json *value, *parent;
  };

  size_t pick(size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random); }

  void collect(ordered_json &value, ordered_json *parent) {
    places.push_back({&value, parent});
    if (value.is_structured())
      for (ordered_json &item : value)
        collect(item, &value);
  }

  void drop(const Place &place) {
    if (!place.parent || place.parent->empty())
      return;
    place.parent->erase(std::next(place.parent->begin(), long(pick(place.parent->size()))));
  }

  void repeat(const Place &place) {
    if (!place.parent || !place.parent->is_array())
      return;
    ordered_json copy = *place.value;
    for (size_t i = 0, count = pick(8) ? 1 : 1 + pick(64); i < count; ++i)
      place.parent->push_back(copy);
  }

  void rename(const Place &place) {
    if (!place.value->is_object() || place.value->empty())
      return;
    auto member = std::next(place.value->begin(), long(pick(place.value->size())));
    ordered_json value = member.value();
    std::string key = text(member.key());
    place.value->erase(member);
    (*place.value)[key] = std::move(value);
  }

  std::string text(std::string value) {
    size_t size = value.size();
    value.resize(size + 16);
    value.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t *>(value.data()), size, value.size()));
    return value;
  }

  void change(ordered_json &value) {
    static const ordered_json numbers[] = {
        0,          1,         -1,         2,           7,          64,      255,
        256,        65536,     2147483647, 2147483648u, 4294967295u, 1e308,  -1e308,
        0.5,        1e-320,    9007199254740992, 9007199254740993, INT64_MAX, INT64_MIN,
        UINT64_MAX, nullptr,   true,       false,       "",         ordered_json::array(),
        ordered_json::object()};
    if (value.is_string() && pick(4))
      value = text(value.get<std::string>());
    else if (value.is_number_integer() && pick(3))
      value = int64_t(uint64_t(value.get<int64_t>()) + pick(130) - 65);
    else if (value.is_boolean())
      value = !value.get<bool>();
    else
      value = numbers[pick(std::size(numbers))];
  }

  std::mt19937 random;
  std::vector<Place> places;
};

} // namespace

std::string mutateJson(std::string_view text, unsigned seed) {
  ordered_json root = ordered_json::parse(text, nullptr, /*allow_exceptions=*/false,
                                          /*ignore_comments=*/true);
  if (root.is_discarded())
    return std::string(text);
  Mutator(seed).mutate(root);
  return root.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

} // namespace llmc::fuzz
