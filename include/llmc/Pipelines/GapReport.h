//===- GapReport.h - what a target lacks for a model -------------*- C++ -*-===//
//
// Every operator of a model by calls and by work, and whether a target covers it,
// can compose it of others, or lacks it (docs/Gaps.md).
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_PIPELINES_GAPREPORT_H
#define LLMC_PIPELINES_GAPREPORT_H

#include "llmc/Dialect/LLM/Analysis/OperatorWork.h"
#include "llmc/Frontend/TargetFile.h"
#include "llmc/Pipelines/Phases.h"
#include "llmc/Pipelines/QuantizedStorage.h"

#include "mlir/IR/BuiltinOps.h"

#include <memory>
#include <string>
#include <vector>

namespace llmc {

struct GapOptions {
  /// Tokens of the prompt that the first step reads; positions before the decoding step.
  int64_t promptTokens = 512, context = 512;
  /// Kernel libraries and passes of the user's own.
  PhaseOptions phase;
  /// How published files store the weights, where a config says that they are quantised: what a
  /// target's file covers and bytes go by these. Null: by the types of the module.
  std::shared_ptr<const QuantizationRules> quantization;
};

struct GapReport {
  enum class Grade { Covered, Composable, Missing };

  /// Uses of one operator with the same facts.
  struct Row {
    std::string op;
    frontend::OperatorFacts facts;
    /// Names of these and of the numbers that a kernel of the user's own can ask for besides.
    std::vector<std::string> kernelFacts;
    /// Calls of a step.
    int64_t calls = 0;
    /// Of a step that reads the prompt, and of one that makes a token behind the context.
    llm::OperatorWork prefill, decode;
    Grade grade = Grade::Missing;
    /// Who computes it: generators, or what the target's file says.
    std::string by;
    /// Where the operator or its kernel is not llmc's: "op library FILE:LINE", "plug-in FILE",
    /// "kernel library FILE:LINE:COLUMN"; one behind the other. Else empty.
    std::string extension;
    /// Of a composed operator: what it is made of, and the work of that.
    std::vector<std::string> composedOf;
    llm::OperatorWork composedPrefill, composedDecode;
    /// Of a missing one.
    std::string reason;
    /// Blocks of the description that it stands in first: `decoder.attention.attend`.
    std::string location;
    /// Of a missing one: a program of it alone, as text.
    std::string program;
  };

  std::string model, target, targetFile;
  /// Format of the weights, and what says so: `headers` ("as stored"), the `config`, the `program`
  /// of a .mlir ("as stored"), or nothing (`assumed`).
  std::string weights, weightsFrom;
  /// What a config says of quantised weights and is in no row, with the reason; else empty.
  std::string notCounted;
  /// Whether the model's description is inferred: nobody has proved it.
  bool inferred = false;
  GapOptions options;
  /// Largest share of a decoding step's bytes first.
  std::vector<Row> rows;
  /// A sentence for each kernel of the user's own that computes nothing of the model.
  std::vector<std::string> warnings;

  llm::OperatorWork prefillTotal() const;
  llm::OperatorWork decodeTotal() const;
  bool ok() const;
  std::string toJson() const;
  std::string toText() const;
};

/// Reads a target (TargetFile::read, whose arguments these are) and checks what the dialect and the
/// compiler alone know: `compiles_as`, the operators, and the facts that they are limited by. Throws
/// InputError with near names.
frontend::TargetFile readTarget(const std::string &nameOrFile, const std::string &folder,
                                mlir::MLIRContext &context);

/// `module`: a model as llm IR behind normalize, with the composites that it calls (see
/// `reportPhases`). Never changes it. Work is that of one sequence, with rows and state of 2
/// bytes an element.
GapReport findGaps(mlir::ModuleOp module, const frontend::TargetFile &target,
                   const GapOptions &options);

/// The phases of a module that findGaps takes: composites and what plug-ins lower stay as the
/// description says them.
PhaseOptions reportPhases();

/// For every missing operator a page OP.md that says what to compute, and a test OP.mlir to
/// run on the target, in a new or empty `folder`. `reference`: docs/Reference/LLM.md. Returns
/// the files. Throws InputError.
std::vector<std::string> writeSpecifications(const GapReport &report, const std::string &folder,
                                             const std::string &reference);

} // namespace llmc

#endif // LLMC_PIPELINES_GAPREPORT_H
