//===- ParamEvaluator.h - parameter values of one model ---------*- C++ -*-===//
#ifndef LLMC_LIB_FRONTEND_DESCRIPTION_PARAMEVALUATOR_H
#define LLMC_LIB_FRONTEND_DESCRIPTION_PARAMEVALUATOR_H

#include "llmc/Frontend/ResolvedModel.h"

#include <set>

namespace llmc::frontend {

/// A config value as a value of the language; objects become their text.
Value valueOf(const Json &json);

/// Evaluates parameters on demand and remembers them. Inside a definition a name means, in
/// this order: a formal argument, another parameter, a config key; the parameter's own name
/// means the config key.
class ParamEvaluator {
public:
  ParamEvaluator(std::shared_ptr<const Description> description, std::shared_ptr<ConfigView> view,
                 std::vector<RopeRecord> &ropes)
      : description(std::move(description)), view(std::move(view)), ropes(ropes) {}

  /// Value of a parameter that is no function; `at` is where it is asked for.
  Value param(const ParamDef &def);
  /// Value of a parameter function.
  Value callFunction(const ParamDef &def, const Expr &call, ValueList args);
  /// rope_record(dim: D, theta: T, ...): reads the config, interns the record.
  Value ropeRecord(const Expr &call, const ValueList &args,
                   const std::vector<std::pair<std::string, Value>> &named);

  /// Counts a call of a parameter function or block, `depth` calls inside others; refuses
  /// chains too long for the stack and calls too many to finish.
  void countCall(const Expr &call, const std::string &name, size_t depth);

  /// Evaluates an expression over parameters and `locals` alone (shapes, conditions).
  Value evaluateWith(const Expr &expr, const std::map<std::string, Value> &locals);

  /// Config keys that an expression over parameters depends on.
  std::vector<std::string> keysBehind(const Expr &expr) const;
  /// "vocab_size = 131, hidden_size = 48": those keys with their values.
  std::string keysText(const Expr &expr) const;
  /// Marks every key that the definitions of these parameters mention as used, whichever branch
  /// was taken.
  void markMentionedKeys(const std::set<std::string> &read);
  /// Every config key the description mentions, for near-name suggestions.
  std::vector<std::string> mentionedKeys() const;

  std::shared_ptr<const Description> description;
  std::shared_ptr<ConfigView> view;
  /// Given to every record: divisors from the checkpoint and the pairing.
  std::vector<float> ropeDivisors, ropeShortFactors, ropeLongFactors;
  bool ropeInterleaved = false;

private:
  friend class ParamContext;
  void checkType(const ParamDef &def, const Value &value) const;

  std::vector<RopeRecord> &ropes;
  std::map<std::string, Value> values;
  /// Names under evaluation, to refuse cycles.
  std::vector<std::string> active;
  /// Calls so far.
  uint64_t calls = 0;
  /// Of all parameters' values.
  uint64_t elements = 0;
};

} // namespace llmc::frontend

#endif // LLMC_LIB_FRONTEND_DESCRIPTION_PARAMEVALUATOR_H
