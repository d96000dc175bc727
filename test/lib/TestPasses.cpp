//===- TestPasses.cpp - passes that only tests run ------------------------===//
#include "TestPasses.h"

void llmc::test::registerTestPasses() {
  registerTestBreakModelPass();
  registerTestEvaluatePass();
}
