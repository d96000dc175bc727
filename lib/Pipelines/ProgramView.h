//===- ProgramView.h - a program by kinds of layers, as data ----*- C++ -*-===//
//
// What pictures and comparisons show of a program: the llm dialect with its fusions, or a
// plan with its launches and memory. As large as what is different, however many layers
// there are.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_LIB_PIPELINES_PROGRAMVIEW_H
#define LLMC_LIB_PIPELINES_PROGRAMVIEW_H

#include "mlir/IR/BuiltinOps.h"

#include <compare>
#include <string>
#include <vector>

namespace llmc {

/// A value on its way from one operation to another of the same kind.
struct ViewRead {
  /// The item that makes it, the operation of its body (0 where it is no fusion), and the result.
  size_t item = 0, part = 0, result = 0;
  /// The operation of the reader's body, 0 where it is no fusion.
  size_t reader = 0;

  auto operator<=>(const ViewRead &) const = default;
};

/// An operation, a fusion or a launch.
struct ViewItem {
  /// `llm.linear`, a fusion's pattern, what a launch computes.
  std::string what;
  /// Path in the model; empty where nothing says it.
  std::string path;
  /// Widths and attributes; of a launch kernel and work items.
  std::string facts;
  /// Of a launch: what it reads (`<`) and writes (`>`).
  std::string operands;
  bool isFusion = false;
  /// Operations of a fusion, in order.
  std::vector<ViewItem> body;
  /// What this reads of items of the same kind, ascending; what operations of a fusion read of
  /// each other too.
  std::vector<ViewRead> reads;
};

/// What the layers of one kind run; or the entry, which has no layers.
struct ViewKind {
  std::string name;
  /// Ascending.
  std::vector<int64_t> layers;
  std::vector<ViewItem> items;
};

struct ViewArena {
  std::string name, kind;
  /// The size as the plan writes it: `blocks * 1474560`.
  std::string size;
  /// At the largest step, with one thread.
  int64_t bytes = 0;
  /// What packing could not go below; -1 where nothing was packed.
  int64_t lowerBound = -1;
};

/// Bytes of an arena while steps need them.
struct ViewSlice {
  std::string name, arena, size;
  int64_t offset = 0, bytes = 0, first = 0, last = 0;
};

/// A family of weights or of state.
struct ViewMember {
  std::string name, arena, facts;
  /// Of all members; of state those of a block or of a sequence.
  int64_t bytes = 0;
};

struct ProgramView {
  enum class Stage { LLM, Plan };
  Stage stage = Stage::LLM;
  /// What the module says of the model, as text.
  std::vector<std::pair<std::string, std::string>> model;
  /// The entry first.
  std::vector<ViewKind> kinds;
  /// Of a plan.
  std::vector<ViewArena> arenas;
  std::vector<ViewSlice> slices;
  std::vector<ViewMember> members;
  int64_t steps = 0;
};

/// Of a module of the llm dialect with an entry, or with one plan.program. Fails, with a
/// diagnostic, on any other.
llvm::FailureOr<ProgramView> viewOf(mlir::ModuleOp module);

} // namespace llmc

#endif // LLMC_LIB_PIPELINES_PROGRAMVIEW_H
