//===- TestPasses.h - passes that only tests run ----------------*- C++ -*-===//
#ifndef LLMC_TEST_LIB_TESTPASSES_H
#define LLMC_TEST_LIB_TESTPASSES_H

#include "llvm/ADT/StringRef.h"

#include <memory>

namespace mlir {
class Pass;
}

namespace llmc::test {

/// Registers all of them.
void registerTestPasses();

void registerTestBreakModelPass();
void registerTestEvaluatePass();

/// `mistake`: epsilon, residual, observe, repeat, twice, or label: the text changes and no number.
std::unique_ptr<mlir::Pass> createTestBreakModelPass(llvm::StringRef mistake);

} // namespace llmc::test

#endif // LLMC_TEST_LIB_TESTPASSES_H
