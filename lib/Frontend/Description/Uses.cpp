//===- Uses.cpp - what of a description is read at all --------------------===//
#include "Uses.h"

namespace llmc::frontend {

namespace {

class UseFinder {
public:
  explicit UseFinder(const Description &description) : description(description) {}

  std::set<std::string> find(const std::vector<std::string> &layerBlocks) {
    root(description.layerBlock);
    drain();
    for (const std::string &name : layerBlocks)
      texts.insert(name);
    for (const std::string &text : std::set<std::string>(texts))
      block(text);
    root(description.layerCount);
    for (const CheckDef &check : description.checks)
      root(check.condition);
    tensors(description.tensors);
    for (const FormDef &form : description.forms) {
      root(form.when);
      tensors(form.tensors);
    }
    if (description.mtp) {
      for (const ExprPtr &expr : {description.mtp->count, description.mtp->from,
                                  description.mtp->like})
        root(expr);
      tensors(description.mtp->tensors);
    }
    for (const PrefixDef &prefix : description.prefixes)
      root(prefix.when);
    for (const auto &fact : description.facts)
      root(fact.second);
    statements(description.model, {"tokens"});
    drain();
    return read;
  }

private:
  using Names = std::set<std::string>;

  /// An expression outside of statements, where `i` may be the layer.
  void root(const ExprPtr &expr) {
    if (expr)
      walk(*expr, {"i"}, nullptr, false);
  }

  void tensors(const std::vector<TensorDef> &list) {
    for (const TensorDef &tensor : list) {
      for (const ExprPtr &expr : {tensor.shape, tensor.when, tensor.bias, tensor.tied,
                                  tensor.experts, tensor.groups, tensor.stored, tensor.values,
                                  tensor.unitRows})
        root(expr);
      for (const TensorPart &part : tensor.parts)
        root(part.rows);
    }
  }

  /// Names mean what they do when it runs: local values go before parameters, blocks before
  /// functions, and a parameter's own name is its config key.
  void walk(const Expr &expr, const Names &locals, const ParamDef *def, bool inStatement) {
    if (expr.kind == Expr::Kind::Literal)
      if (const std::string *text = expr.literal.get<std::string>())
        texts.insert(*text);
    bool isCall = expr.kind == Expr::Kind::Call;
    if (isCall && inStatement && description.findBlock(expr.name))
      block(expr.name);
    else if (isCall || (expr.kind == Expr::Kind::Name && !locals.count(expr.name)))
      parameter(expr.name, def);
    for (const ExprPtr &child : expr.children)
      walk(*child, locals, def, inStatement);
    for (const auto &named : expr.named)
      walk(*named.second, locals, def, inStatement);
  }

  void statements(const std::vector<Statement> &list, Names locals) {
    for (const Statement &statement : list) {
      walk(*statement.value, locals, nullptr, true);
      locals.insert(statement.targets.begin(), statement.targets.end());
    }
  }

  void parameter(const std::string &name, const ParamDef *def) {
    const ParamDef *param = description.findParam(name);
    if (param && param != def && read.insert(name).second)
      openParams.push_back(param);
  }
  void block(const std::string &name) {
    const BlockDef *def = description.findBlock(name);
    if (def && reached.insert(name).second)
      openBlocks.push_back(def);
  }

  /// Lists of what is still to be followed, so that a long chain needs no deep stack.
  void drain() {
    while (!openParams.empty() || !openBlocks.empty()) {
      if (!openParams.empty()) {
        const ParamDef *param = openParams.back();
        openParams.pop_back();
        walk(*param->value, {param->formals.begin(), param->formals.end()}, param, false);
        continue;
      }
      const BlockDef *def = openBlocks.back();
      openBlocks.pop_back();
      statements(def->statements, {def->formals.begin(), def->formals.end()});
    }
  }

  const Description &description;
  Names read, reached, texts;
  std::vector<const ParamDef *> openParams;
  std::vector<const BlockDef *> openBlocks;
};

} // namespace

std::set<std::string> parametersRead(const Description &description,
                                     const std::vector<std::string> &layerBlocks) {
  return UseFinder(description).find(layerBlocks);
}

} // namespace llmc::frontend
