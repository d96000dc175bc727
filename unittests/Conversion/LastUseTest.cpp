//===- LastUseTest.cpp - readers find the value that they name ------------===//
#include "Converter.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace llmc;

namespace {

class LastUse : public testing::Test {
protected:
  LastUse()
      : location(UnknownLoc::get(&context)), reader(ModuleOp::create(location)),
        handler(&context, [this](Diagnostic &diagnostic) {
          text += diagnostic.str();
          return success();
        }) {
    Type type = Float32Type::get(&context);
    for (Value *value : {&a, &b, &c})
      *value = block.addArgument(type, location);
  }

  static RowBuffer columns(int64_t offset, int64_t width, int64_t stride = 8,
                           const char *slice = "x") {
    RowBuffer buffer;
    buffer.slice = slice;
    buffer.stride = stride;
    buffer.offset = offset;
    buffer.width = width;
    return buffer;
  }
  bool finds(Value value, const RowBuffer &buffer) {
    text.clear();
    return succeeded(contents.check(value, buffer, *reader));
  }

  MLIRContext context;
  Location location;
  OwningOpRef<ModuleOp> reader;
  std::string text;
  ScopedDiagnosticHandler handler;
  Block block;
  Value a, b, c;
  SliceContents contents;
};

TEST_F(LastUse, AValueIsThereUntilAnotherIsWritten) {
  contents.write(a, columns(0, 8));
  EXPECT_TRUE(finds(a, columns(0, 8)));
  contents.write(b, columns(0, 8));
  EXPECT_TRUE(finds(b, columns(0, 8)));
  EXPECT_FALSE(finds(a, columns(0, 8)));
  EXPECT_NE(text.find("has overwritten memory, in slice @x"), std::string::npos) << text;
}

TEST_F(LastUse, APartThatIsOverwrittenIsMissed) {
  contents.write(a, columns(0, 8));
  contents.write(b, columns(6, 2));
  EXPECT_FALSE(finds(a, columns(0, 8)));
  // The columns before it are still those of the old value.
  contents.alias(c, columns(0, 6));
  EXPECT_TRUE(finds(c, columns(0, 6)));
  EXPECT_TRUE(finds(b, columns(6, 2)));
}

TEST_F(LastUse, AnotherNameOfWhatLiesThereOverwritesNothing) {
  contents.write(a, columns(0, 8));
  contents.alias(b, columns(2, 4));
  EXPECT_TRUE(finds(a, columns(0, 8)));
  EXPECT_TRUE(finds(b, columns(2, 4)));
  contents.write(c, columns(0, 2));
  EXPECT_FALSE(finds(a, columns(0, 8)));
  EXPECT_TRUE(finds(b, columns(2, 4)));
}

TEST_F(LastUse, SlicesAreApart) {
  contents.write(a, columns(0, 8));
  contents.write(b, columns(0, 8, 8, "y"));
  EXPECT_TRUE(finds(a, columns(0, 8)));
}

TEST_F(LastUse, RowsOfAnotherLengthAreTheWholeSlice) {
  contents.write(a, columns(0, 8));
  contents.write(b, columns(0, 2, 4));
  EXPECT_FALSE(finds(a, columns(4, 4)));
  EXPECT_TRUE(finds(b, columns(0, 2, 4)));
}

TEST_F(LastUse, WhatIsComputedAgainMayLieElsewhere) {
  contents.write(a, columns(0, 8));
  contents.write(b, columns(0, 8));
  contents.forget(a);
  // Its memory is made when it is first read.
  EXPECT_TRUE(finds(a, columns(0, 8, 8, "y")));
  EXPECT_TRUE(finds(b, columns(0, 8)));
}

} // namespace
