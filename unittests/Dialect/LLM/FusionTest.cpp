//===- FusionTest.cpp - refusals and the table of patterns ----------------===//
#include "llmc/Dialect/LLM/Transforms/Fusion.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace llmc::llm;

namespace {

/// What `pattern`, with or without a row in the table, says besides its remark.
std::string warningOf(StringRef pattern, StringRef predicate, bool enabled = true) {
  MLIRContext context;
  context.loadDialect<func::FuncDialect>();
  auto module = parseSourceString<ModuleOp>("func.func private @f()", &context);
  std::string said;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) { said += diagnostic.str(); });
  FusionSettings settings;
  settings.enabled = enabled;
  Fuser(pattern, settings).missed(&module->getBody()->front(), predicate, "a reason");
  return said;
}

TEST(Fusion, RefusalsAreThoseOfTheTable) {
  auto create = [](const FusionSettings &) { return std::unique_ptr<Pass>(); };
  registerFusionPattern({"listed", FusionFamily::Row, "It lists what it refuses by", create,
                         {predicate::producer, predicate::singleUse}});
  registerFusionPattern({"silent", FusionFamily::Row, "It lists nothing", create});

  EXPECT_EQ(warningOf("listed", predicate::singleUse), "");
  EXPECT_EQ(warningOf("listed", predicate::enabled, /*enabled=*/false), "");
  EXPECT_EQ(warningOf("listed", predicate::readers),
            "fusion pattern 'listed' refuses by 'readers', which its row in the table of patterns does not list");
  // One that is off says nothing else than that.
  EXPECT_EQ(warningOf("listed", predicate::readers, /*enabled=*/false), "");
  EXPECT_EQ(warningOf("silent", predicate::readers), "");
  EXPECT_EQ(warningOf("unknown", "of-its-own"), "");
}

/// A name that no list explains would be a remark that nobody can look up.
TEST(Fusion, PredicatesOfPatternsAreExplained) {
  for (const FusionPattern &pattern : fusionPatterns())
    for (StringRef name : pattern.predicates)
      EXPECT_TRUE(llvm::any_of(fusionPredicates(),
                               [&](const FusionPredicate &known) { return known.name == name; }))
          << pattern.name.str() << ": " << name.str();
}

} // namespace
