//===- Json.cpp - JSON values and their text ------------------------------===//
#include "llmc/Frontend/Json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace llmc::frontend {

const Json *Json::find(std::string_view key) const {
  for (const auto &[name, value] : members)
    if (name == key)
      return &value;
  return nullptr;
}

Json *Json::find(std::string_view key) {
  return const_cast<Json *>(static_cast<const Json *>(this)->find(key));
}

void Json::set(std::string key, Json value) {
  if (Json *present = find(key))
    *present = std::move(value);
  else
    members.push_back({std::move(key), std::move(value)});
}

const char *Json::kindName() const {
  switch (kind) {
  case Kind::Null:
    return "null";
  case Kind::Bool:
    return "a boolean";
  case Kind::Int:
    return "an integer";
  case Kind::Double:
    return "a number";
  case Kind::String:
    return "text";
  case Kind::Array:
    return "a list";
  case Kind::Object:
    return "an object";
  }
  return "?";
}

bool Json::operator==(const Json &other) const {
  if (isNumber() && other.isNumber())
    return isInt() && other.isInt() ? integer == other.integer : asDouble() == other.asDouble();
  if (kind != other.kind)
    return false;
  switch (kind) {
  case Kind::Null:
    return true;
  case Kind::Bool:
    return boolean == other.boolean;
  case Kind::String:
    return text == other.text;
  case Kind::Array:
    return items == other.items;
  case Kind::Object:
    // The order of members carries no meaning.
    return members.size() == other.members.size() &&
           std::all_of(members.begin(), members.end(), [&](const JsonMember &member) {
             const Json *there = other.find(member.first);
             return there && *there == member.second;
           });
  default:
    return false;
  }
}

Json Json::makeBool(bool value) {
  Json json;
  json.kind = Kind::Bool;
  json.boolean = value;
  return json;
}
Json Json::makeInt(int64_t value) {
  Json json;
  json.kind = Kind::Int;
  json.integer = value;
  return json;
}
Json Json::makeDouble(double value) {
  Json json;
  json.kind = Kind::Double;
  json.number = value;
  return json;
}
Json Json::makeString(std::string value) {
  Json json;
  json.kind = Kind::String;
  json.text = std::move(value);
  return json;
}
Json Json::makeArray() {
  Json json;
  json.kind = Kind::Array;
  return json;
}
Json Json::makeObject() {
  Json json;
  json.kind = Kind::Object;
  return json;
}

std::string quoteJson(std::string_view text) {
  std::string out = "\"";
  for (unsigned char c : text) {
    switch (c) {
    case '"':
      out += "\\\"";
      break;
    case '\\':
      out += "\\\\";
      break;
    case '\n':
      out += "\\n";
      break;
    case '\r':
      out += "\\r";
      break;
    case '\t':
      out += "\\t";
      break;
    default:
      if (c < 0x20) {
        char buffer[8];
        std::snprintf(buffer, sizeof buffer, "\\u%04x", c);
        out += buffer;
      } else {
        out += char(c);
      }
    }
  }
  return out + "\"";
}

static void dumpInto(const Json &json, std::string &out) {
  switch (json.kind) {
  case Json::Kind::Null:
    out += "null";
    break;
  case Json::Kind::Bool:
    out += json.boolean ? "true" : "false";
    break;
  case Json::Kind::Int:
    out += std::to_string(json.integer);
    break;
  case Json::Kind::Double: {
    // A whole number beyond int64 keeps its digits as text.
    if (!json.text.empty()) {
      out += json.text;
      break;
    }
    if (!std::isfinite(json.number)) {
      out += std::isnan(json.number) ? "NaN" : json.number < 0 ? "-Infinity" : "Infinity";
      break;
    }
    char buffer[32];
    out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, json.number).ptr);
    break;
  }
  case Json::Kind::String:
    out += quoteJson(json.text);
    break;
  case Json::Kind::Array:
    out += '[';
    for (size_t i = 0; i < json.items.size(); ++i) {
      out += i ? ", " : "";
      dumpInto(json.items[i], out);
    }
    out += ']';
    break;
  case Json::Kind::Object:
    out += '{';
    for (size_t i = 0; i < json.members.size(); ++i) {
      out += i ? ", " : "";
      out += quoteJson(json.members[i].first) + ": ";
      dumpInto(json.members[i].second, out);
    }
    out += '}';
    break;
  }
}

std::string Json::dump(size_t limit) const {
  std::string out;
  dumpInto(*this, out);
  if (limit && out.size() > limit)
    out = out.substr(0, limit * 2 / 3) + " ... " + out.substr(out.size() - limit / 4);
  return out;
}

} // namespace llmc::frontend
