//===- RandomRows.h - random row programs -----------------------*- C++ -*-===//
#ifndef LLMC_UNITTESTS_KERNELS_ROWS_RANDOMROWS_H
#define LLMC_UNITTESTS_KERNELS_ROWS_RANDOMROWS_H

#include "llmc/Kernels/CPU/RowKernels.h"
#include <random>
#include <vector>

namespace llmc::kernels::test {

/// A program of random operations on two rows and one number a row: value v lies in operand v.
struct RandomProgram {
  struct Step {
    int kind, x, y;
  };
  static constexpr int kinds = 13, firstReduction = 7, firstStatistic = 10;

  explicit RandomProgram(unsigned seed) : random(seed) {
    constexpr int64_t widths[] = {5, 48, 100};
    width = widths[random() % 3];
    heads = random() % 2 ? 3 : 1;
    for (int i = 0, count = 4 + int(random() % 9); i < count; ++i) {
      Step step{int(random() % kinds), pick(false), pick(false)};
      bool reduces = step.kind >= firstReduction;
      if (reduces)
        step.x = pick(true);
      bool isBinary = step.kind < 4;
      bool single = !reduces && isScalar[step.x] && (!isBinary || isScalar[step.y]);
      isScalar.push_back(step.kind >= firstStatistic || single);
      steps.push_back(step);
      isSeen.push_back(random() % 3 == 0);
    }
    isSeen.back() = true;
  }

  int pick(bool row) {
    int value;
    do
      value = int(random() % isScalar.size());
    while (row && isScalar[value]);
    return value;
  }
  RowOperand place(int value) const {
    if (isScalar[value])
      return {unsigned(value), heads, 0, heads > 1 ? 1 : 0, RowElement::F32, RowIndex::Item, true};
    return {unsigned(value), width * heads, 0, width};
  }
  static int add(RowProgram &p, int kind, int x, int y) {
    switch (kind) {
    case 0: return p.add(x, y);
    case 1: return p.sub(x, y);
    case 2: return p.mul(p.clamp(x, -4, 4), p.clamp(y, -4, 4));
    case 3: return p.gate(Activation::GeluTanh, x, p.min(y, x));
    case 4: return p.scale(x, 0.3f);
    case 5: return p.activate(Activation::Sigmoid, x);
    case 6: return p.softcap(x, 3);
    case 7: return p.rmsNorm(x, RowProgram::none, 1e-5f);
    case 8: return p.layerNorm(x, RowProgram::none, RowProgram::none, 1e-5f);
    case 9: return p.softmax(x);
    case 10: return p.mean(x);
    case 11: return p.deviation(x);
    default: return p.rowMax(x);
    }
  }

  RowProgram fused() const {
    RowProgram p(width, heads);
    std::vector<int> nodes;
    for (int value = 0; value < 3; ++value)
      nodes.push_back(p.input(place(value)));
    for (const Step &step : steps)
      nodes.push_back(add(p, step.kind, nodes[step.x], nodes[step.y]));
    for (size_t i = 0; i < steps.size(); ++i)
      if (isSeen[i])
        p.output(nodes[i + 3], place(int(i) + 3));
    return p;
  }
  RowProgram alone(size_t i) const {
    RowProgram p(width, heads);
    int x = p.input(place(steps[i].x)), y = p.input(place(steps[i].y));
    p.output(add(p, steps[i].kind, x, y), place(int(i) + 3));
    return p;
  }

  std::mt19937 random;
  int64_t width, heads;
  std::vector<bool> isScalar{false, false, true};
  std::vector<Step> steps;
  std::vector<bool> isSeen;
};

} // namespace llmc::kernels::test

#endif // LLMC_UNITTESTS_KERNELS_ROWS_RANDOMROWS_H
