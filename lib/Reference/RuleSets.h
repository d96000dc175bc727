//===- RuleSets.h - the rules of the llm dialect, by family -----*- C++ -*-===//
#ifndef LLMC_LIB_REFERENCE_RULESETS_H
#define LLMC_LIB_REFERENCE_RULESETS_H

#include "llmc/Reference/Rules.h"

namespace llmc::reference {

template <typename T> void addStreamRules(RuleTable<T> &table);
template <typename T> void addAttentionRules(RuleTable<T> &table);
template <typename T> void addElementRules(RuleTable<T> &table);
template <typename T> void addEmbeddingRules(RuleTable<T> &table);
template <typename T> void addEntryRules(RuleTable<T> &table);
template <typename T> void addLinearRules(RuleTable<T> &table);
template <typename T> void addNormRules(RuleTable<T> &table);
template <typename T> void addRecurrentRules(RuleTable<T> &table);
template <typename T> void addRoutingRules(RuleTable<T> &table);
template <typename T> void addStructureRules(RuleTable<T> &table);

} // namespace llmc::reference

#endif // LLMC_LIB_REFERENCE_RULESETS_H
