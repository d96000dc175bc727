//===- InferSwitches.cpp - what tensors say of conditions -----------------===//
#include "InferSwitches.h"

#include <algorithm>
#include <charconv>

namespace llmc::frontend {

TensorPlaces::TensorPlaces(const ModelSource &source) {
  if (!source.checkpoint)
    return;
  for (const CheckpointTensor &tensor : source.checkpoint->tensors()) {
    std::string name = templateOf(tensor.name);
    size_t at = name.find("{i}");
    if (at == std::string::npos)
      continue;
    // What stands before the first number is the same in both.
    int64_t layer = 0;
    const char *end = tensor.name.data() + tensor.name.size();
    if (std::from_chars(tensor.name.data() + at, end, layer).ec == std::errc())
      layers[tailOf(name)].insert(layer);
  }
}

namespace {

/// What tensors say of one parameter: layers where it must hold and where it must not.
struct Evidence {
  std::set<int64_t> on, off;
  bool isWanted = false;
};

class SwitchFinder {
public:
  SwitchFinder(const KnownDescription &base, const InferState &state, const TensorPlaces &places)
      : base(base), state(state), description(*state.description), places(places) {
    for (const auto *names : {&state.left.missing, &state.left.unread})
      for (const std::string &name : *names)
        wanted.insert(tailOf(name));
    for (const std::string &role : state.left.idleRoles)
      wantedRoles.insert(role);
    count = state.model ? state.model->layerCount() : 0;
  }

  Overlay find() {
    if (count <= 0 || (wanted.empty() && wantedRoles.empty()))
      return {};
    for (const TensorDef &def : description.tensors)
      if (def.perLayer && def.when)
        readTensor(def);
    for (const BlockDef &block : description.blocks)
      for (const Statement &statement : block.statements)
        readBranches(*statement.value);
    Overlay overlay;
    for (const auto &[name, evidence] : found)
      if (evidence.isWanted)
        set(name, evidence, overlay);
    dropForms(overlay);
    return overlay;
  }

private:
  struct Atom {
    std::string param;
    bool negated = false;
  };

  /// The parameters that a condition is a conjunction of; false where it is anything else.
  bool atomsOf(const Expr &expr, bool negated, std::vector<Atom> &atoms, size_t depth = 0) const {
    if (depth > 16)
      return false;
    if (expr.kind == Expr::Kind::Unary && expr.name == "!")
      return atomsOf(*expr.children[0], !negated, atoms, depth + 1);
    if (expr.kind == Expr::Kind::Binary && expr.name == "&&" && !negated)
      return atomsOf(*expr.children[0], negated, atoms, depth + 1) &&
             atomsOf(*expr.children[1], negated, atoms, depth + 1);
    bool isPlain = expr.kind == Expr::Kind::Name ||
                   (expr.kind == Expr::Kind::Call && expr.children.size() == 1 &&
                    expr.children[0]->kind == Expr::Kind::Name && expr.children[0]->name == "i");
    const ParamDef *param = isPlain ? description.findParam(expr.name) : nullptr;
    if (!param || param->type != ParamDef::Type::Bool || param->nullable)
      return false;
    // One that is another, or the contrary of it.
    std::vector<Atom> inner;
    const Expr &value = *param->value;
    if (((value.kind == Expr::Kind::Unary && value.name == "!") || value.kind == Expr::Kind::Call) &&
        atomsOf(value, negated, inner, depth + 1) && inner.size() == 1) {
      atoms.push_back(inner[0]);
      return true;
    }
    atoms.push_back({expr.name, negated});
    return true;
  }

  std::set<int64_t> layersOf(const std::string &tail) const {
    std::set<int64_t> layers;
    if (const std::set<int64_t> *all = places.layersOf(tail))
      for (int64_t layer : *all)
        if (layer < count)
          layers.insert(layer);
    return layers;
  }

  void readTensor(const TensorDef &def) {
    std::vector<Atom> atoms;
    if (def.optional || !atomsOf(*def.when, false, atoms))
      return;
    std::string tail = tailOf(def.nameTemplate);
    std::set<int64_t> there = layersOf(tail);
    for (const Atom &atom : atoms) {
      Evidence &evidence = found[atom.param];
      evidence.isWanted |= wanted.count(tail) != 0;
      for (int64_t layer = 0; layer < count; ++layer) {
        bool isThere = there.count(layer) != 0;
        // That it is not there may have any of several reasons.
        if (isThere || atoms.size() == 1)
          (isThere != atom.negated ? evidence.on : evidence.off).insert(layer);
      }
    }
  }

  void rolesIn(const Expr &expr, std::set<std::string> &roles, std::set<std::string> &seen) const {
    std::vector<std::string> names;
    collectNames(expr, names);
    for (const std::string &name : names) {
      if (roleTails.empty())
        readRoles();
      if (roleTails.count(name))
        roles.insert(name);
      if (const BlockDef *block = description.findBlock(name); block && seen.insert(name).second)
        for (const Statement &statement : block->statements)
          rolesIn(*statement.value, roles, seen);
    }
  }
  void readRoles() const {
    for (const TensorDef &def : description.tensors) {
      if (!def.perLayer)
        continue;
      for (const TensorPart &part : def.parts)
        roleTails[part.role] = tailOf(def.nameTemplate);
      if (def.parts.empty())
        roleTails[def.role] = tailOf(def.nameTemplate);
    }
  }

  /// `is_sparse(i) ? moe(x) : gated_mlp(x)`: the road whose tensors are there.
  void readBranches(const Expr &expr) {
    for (const ExprPtr &child : expr.children)
      readBranches(*child);
    for (const auto &named : expr.named)
      readBranches(*named.second);
    if (expr.kind != Expr::Kind::Conditional || expr.children.size() != 3)
      return;
    std::vector<Atom> atoms;
    if (!atomsOf(*expr.children[0], false, atoms) || atoms.size() != 1)
      return;
    std::set<std::string> roles[2];
    for (size_t road = 0; road < 2; ++road) {
      std::set<std::string> seen;
      rolesIn(*expr.children[1 + road], roles[road], seen);
    }
    Evidence &evidence = found[atoms[0].param];
    for (size_t road = 0; road < 2; ++road)
      for (const std::string &role : roles[road]) {
        if (roles[1 - road].count(role))
          continue;
        evidence.isWanted |= wantedRoles.count(role) || wanted.count(roleTails[role]);
        for (int64_t layer : layersOf(roleTails[role]))
          ((road == 0) != atoms[0].negated ? evidence.on : evidence.off).insert(layer);
      }
  }

  void set(const std::string &name, const Evidence &evidence, Overlay &overlay) const {
    std::vector<int64_t> on(evidence.on.begin(), evidence.on.end());
    for (int64_t layer : on)
      if (evidence.off.count(layer))
        return;
    // Nothing is said of some layers.
    if (int64_t(on.size() + evidence.off.size()) != count)
      return;
    const ParamDef *param = description.findParam(name);
    bool mixed = !on.empty() && int64_t(on.size()) < count;
    if (mixed && (!param->isFunction || param->formals.size() != 1))
      return;
    std::string text = on.empty() ? "false" : mixed ? "" : "true";
    if (mixed && on.back() == count - 1 && on.back() - on.front() + 1 == int64_t(on.size())) {
      text = param->formals[0] + " >= " + std::to_string(on.front());
    } else if (mixed) {
      for (int64_t layer : on)
        text += (text.empty() ? "contains([" : ", ") + std::to_string(layer);
      text += "], " + param->formals[0] + ")";
    }
    EntryKey key{"params", name};
    const Entry *now = base.find(key);
    if (auto it = state.overlay.find(key); it != state.overlay.end())
      now = it->second ? &*it->second : nullptr;
    if (!now)
      return;
    Entry entry;
    entry.head = now->head;
    entry.value = Json::makeArray();
    entry.value.items = {Json::makeString(text), Json::makeString("bool")};
    overlay[key] = std::move(entry);
  }

  void dropForms(Overlay &overlay) const {
    EntryKey key{"forms", ""};
    if (description.forms.empty() || state.overlay.count(key))
      return;
    for (const FormDef &form : description.forms)
      for (const TensorDef &def : form.tensors)
        if (places.layersOf(tailOf(def.nameTemplate)))
          return;
    overlay[key] = std::nullopt;
  }

  const KnownDescription &base;
  const InferState &state;
  const Description &description;
  const TensorPlaces &places;
  std::set<std::string> wanted, wantedRoles;
  mutable std::map<std::string, std::string> roleTails;
  std::map<std::string, Evidence> found;
  int64_t count = 0;
};

} // namespace

Overlay switchesOf(const KnownDescription &base, const InferState &state,
                   const TensorPlaces &places) {
  return state.description ? SwitchFinder(base, state, places).find() : Overlay();
}

} // namespace llmc::frontend
