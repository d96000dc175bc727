//===- MemoryPlan.h - what a deployment takes, item by item -----*- C++ -*-===//
//
// The figures behind `llmc plan` (docs/Plan.md). All bytes; sums saturate.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_PIPELINES_MEMORYPLAN_H
#define LLMC_PIPELINES_MEMORYPLAN_H

#include "llmc/Pipelines/Phases.h"
#include "llmc/Pipelines/QuantizedStorage.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>
#include <vector>

namespace llmc {

struct MemoryRequest {
  /// As for the compiler; `maxContext` of the deployment are the positions of each sequence, 0: as
  /// the compiler decides. `maxSequences` is raised to the batch.
  PhaseOptions phase;
  /// Sequences that are all as long as the context.
  int64_t batch = 1;
  /// Worker threads of a device.
  int64_t threads = 1;
  /// Element of keys, values, latents and entries: f32, f16, bf16, fp8, int8; empty: what the
  /// target keeps.
  std::string kvType;
  /// How many devices divide the products, the layers, the experts, the positions.
  int64_t tensor = 1, pipeline = 1, expert = 1, context = 1;
  /// Bytes of a device; nothing: not known.
  std::optional<int64_t> memory;
  /// Of them, what is to stay free.
  int64_t headroom = 0;
  /// Whether llmc run allocates what the plan says: the target is the cpu.
  bool runsHere = true;
  /// How published files store the weights, where a config says that they are quantised; formulas
  /// count them so.
  std::shared_ptr<const QuantizationRules> quantization;
  /// The cpu holds the values of quantised weights as f32; why its plan counts other bytes.
  std::string otherThanPlanned;
};

/// Where a figure comes from.
enum class MemoryBasis {
  Plan,    ///< the plan: the runtime allocates exactly this
  Formula, ///< arithmetic: llmc has no kernels for this yet
  Bound,   ///< no more than this: the plan of one device for a part of its work
  Asked    ///< the command line
};
const char *memoryBasisName(MemoryBasis basis);

struct MemoryItem {
  /// Arena (weights, state, activations, workspace, communication), or headroom.
  std::string arena, name;
  int64_t bytes = 0;
  MemoryBasis basis = MemoryBasis::Plan;
  std::string formula;
};

/// Devices that hold the same amounts.
struct DeviceMemory {
  std::string name;
  int64_t count = 1;
  std::vector<MemoryItem> items;

  int64_t total() const;
  int64_t totalOf(const std::string &arena) const;
};

struct MemoryReport {
  struct Chunk {
    int64_t tokens = 0, outputs = 0, bytes = 0, lowerBound = 0;
    bool optimal = false;
  };
  struct Point {
    int64_t context = 0, state = 0, total = 0;
  };

  std::string model, target;
  MemoryRequest request;
  /// Of the model; 0: not known.
  int64_t contextLimit = 0;
  std::vector<DeviceMemory> devices;
  /// What llmc run allocates for this deployment; else `whyNotAllocated` says why it cannot.
  std::optional<int64_t> allocated;
  std::string whyNotAllocated;
  /// Activations as they are if the largest step has so many tokens.
  std::vector<Chunk> chunks;
  /// Of the fullest device.
  std::vector<Point> curve;
  /// Where the memory is known: the longest context of the batch, the largest batch of the
  /// context; 0: none fits.
  std::optional<int64_t> largestContext, largestBatch;
  std::vector<std::string> notes;

  const DeviceMemory &fullest() const;
  std::string toJson() const;
  std::string toText() const;
};

/// `module`: a model as llm IR after normalisation, which stays as it is. Throws InputError for
/// a context that the model does not have and for divisions that are not possible, with those
/// that are.
MemoryReport planMemory(mlir::ModuleOp module, const MemoryRequest &request);

} // namespace llmc

#endif // LLMC_PIPELINES_MEMORYPLAN_H
