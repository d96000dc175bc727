//===- TestPasses.h - passes that only tests run ----------------*- C++ -*-===//
#ifndef LLMC_TEST_LIB_TESTPASSES_H
#define LLMC_TEST_LIB_TESTPASSES_H

namespace llmc::test {

/// Registers all of them.
void registerTestPasses();

void registerTestEvaluatePass();

} // namespace llmc::test

#endif // LLMC_TEST_LIB_TESTPASSES_H
