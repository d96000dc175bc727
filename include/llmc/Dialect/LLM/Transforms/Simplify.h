//===- Simplify.h - the table of simplifications ----------------*- C++ -*-===//
//
// A simplification has a name: its flag (--disable-simplification=NAME), its remark and its
// row on docs/Simplification.md. The pass llm-simplify makes them all.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_DIALECT_LLM_TRANSFORMS_SIMPLIFY_H
#define LLMC_DIALECT_LLM_TRANSFORMS_SIMPLIFY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace llmc::llm {

/// When the program with it computes the same bits as the program without.
enum class SimplificationExactness {
  Always,
  /// For sequences of at most `max-context` positions.
  WithinContext,
  /// Not in general: made only where it is asked for.
  WhenAsked
};

llvm::StringRef simplificationExactnessName(SimplificationExactness exactness);

struct Simplification {
  llvm::StringRef name;
  SimplificationExactness exactness;
  /// What becomes of what, one line.
  llvm::StringRef summary;
};

/// All of them, in the order in which the pass first tries them.
llvm::ArrayRef<Simplification> simplifications();

/// The one of that name, or null.
const Simplification *findSimplification(llvm::StringRef name);

} // namespace llmc::llm

#endif // LLMC_DIALECT_LLM_TRANSFORMS_SIMPLIFY_H
