//===- Merge.cpp - one part of a description over another -----------------===//
#include "Merge.h"
#include "llmc/Frontend/Description.h"
#include "llmc/Support/Error.h"

#include <algorithm>
#include <set>

namespace llmc::frontend {

/// Lists that an extension adds to; every other list is replaced.
static bool isAppended(const std::string &path) {
  return path == "ledger.irrelevant" || path == "ledger.ignored_tensors" ||
         path == "gguf.irrelevant" || path == "gguf.ignored_tensors";
}

/// "window(i)" and "window" name the same thing.
static std::string bareName(const std::string &head) { return head.substr(0, head.find('(')); }

void mergeJson(Json &base, const Json &over, const std::string &path) {
  bool hasHeads = path == "params" || path == "blocks";
  for (const auto &[key, value] : over.members) {
    auto it = std::find_if(base.members.begin(), base.members.end(), [&](const JsonMember &m) {
      return m.first == key || (hasHeads && bareName(m.first) == bareName(key));
    });
    std::string inner = path.empty() ? key : path + "." + key;
    // The value of a config key may be null, so null is a value there.
    if (value.isNull() && path != "ledger.require" && path != "defaults") {
      if (it != base.members.end())
        base.members.erase(it);
    } else if (it == base.members.end()) {
      base.members.push_back({key, value});
    } else if (value.isObject() && it->second.isObject()) {
      mergeJson(it->second, value, inner);
    } else if (value.isArray() && it->second.isArray() && isAppended(inner)) {
      it->second.items.insert(it->second.items.end(), value.items.begin(), value.items.end());
    } else {
      it->first = key;
      it->second = value;
    }
  }
}

namespace {

/// Other beginnings for the names of inherited tensors, and which of them were met.
class Renamer {
public:
  Renamer(const Json &renamed, const std::string &path) : renamed(renamed), path(path) {
    if (!renamed.isObject())
      fail(renamed, "'renamed' must be an object of beginnings of inherited tensors' names");
    for (const auto &[from, to] : renamed.members) {
      if (!to.isString())
        fail(to, "'renamed." + from + "' must be text");
      beginnings.replaced.emplace_back(from, to.text);
    }
  }

  /// Roles, each a list that begins with a name, and those inside `layer`.
  void tensors(Json *section) {
    if (!section || !section->isObject())
      return;
    for (auto &[role, value] : section->members) {
      if (role == "layer")
        tensors(&value);
      else if (value.isArray() && !value.items.empty() && value.items[0].isString())
        rename(value);
    }
  }

  /// A beginning that no name has is a mistake, and would otherwise change nothing silently.
  void finish() const {
    for (const auto &[from, to] : renamed.members)
      if (!met.count(from))
        fail(to, "no inherited tensor has a name that begins with '" + from +
                     "', which 'renamed' replaces");
  }

private:
  void rename(Json &tensor) {
    apply(tensor.items[0]);
    for (size_t i = 2; i < tensor.items.size(); ++i)
      if (Json *bias = tensor.items[i].isObject() ? tensor.items[i].find("bias_name") : nullptr)
        apply(*bias);
  }
  void apply(Json &name) {
    if (!name.isString())
      return;
    for (const auto &pair : beginnings.replaced)
      if (name.text.starts_with(pair.first))
        met.insert(pair.first);
    name.text = beginnings.apply(name.text);
  }
  [[noreturn]] void fail(const Json &json, const std::string &message) const {
    throw InputError(path + ":" + std::to_string(json.line) + ":" + std::to_string(json.column) +
                     ": " + message + ", here is " + json.dump(80));
  }

  const Json &renamed;
  const std::string &path;
  PrefixDef beginnings;
  std::set<std::string> met;
};

} // namespace

void renameTensors(Json &base, const Json &own, const std::string &path) {
  const Json *renamed = own.find("renamed");
  if (!renamed || renamed->isNull())
    return;
  Renamer renamer(*renamed, path);
  renamer.tensors(base.find("tensors"));
  if (Json *forms = base.find("forms"))
    for (Json &form : forms->items)
      renamer.tensors(form.find("tensors"));
  if (Json *mtp = base.find("mtp"); mtp && mtp->isObject())
    renamer.tensors(mtp->find("tensors"));
  renamer.finish();
}

} // namespace llmc::frontend
