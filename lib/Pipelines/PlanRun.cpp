//===- PlanRun.cpp - a plan's numbers on seeded inputs --------------------===//
#include "PlanRun.h"

#include "PlanExecution.h"
#include "SeededCheckpoint.h"
#include "SeededWeights.h"
#include "WeightFile.h"
#include "llmc/Frontend/Checkpoint.h"
#include "llmc/Kernels/CPU/Backend.h"
#include "llmc/Kernels/Passes.h"
#include "llmc/Pipelines/ModelContext.h"
#include "llmc/Runtime/Manifest.h"
#include "llmc/Support/Error.h"
#include "llmc/Support/Target.h"
#include "llmc/Target/Manifest/Manifest.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/xxhash.h"

#include <filesystem>
#include <fstream>

using namespace mlir;
namespace fs = std::filesystem;

namespace llmc {

namespace {

/// A folder that is gone with this object.
struct TemporaryFolder {
  llvm::SmallString<128> path;
  std::error_code error = llvm::sys::fs::createUniqueDirectory("llmc-check", path);
  ~TemporaryFolder() {
    if (!error)
      llvm::sys::fs::remove_directories(path);
  }
  fs::path at(const std::string &name) const { return fs::path(path.str().str()) / name; }
};

/// A file of the artifact that the next plan may want again.
struct KeptFile {
  uint64_t hash = 0;
  fs::path path;
};

/// Names on one machine what two plans have in common.
uint64_t hashOf(Operation *op) {
  std::string text;
  llvm::raw_string_ostream out(text);
  op->print(out, OpPrintingFlags().useLocalScope());
  return llvm::xxh3_64bits(text);
}

uint64_t hashOfWeights(plan::ProgramOp program) {
  uint64_t hash = 0;
  for (auto weights : program.getOps<plan::WeightsOp>())
    hash = mixBits(hash ^ hashOf(weights));
  return hash;
}

const kernels::CPUVariant *hostVariant() {
  for (const kernels::CPUVariant &variant : kernels::cpuVariants())
    if (kernels::hostSupports(variant))
      return &variant;
  return nullptr;
}

/// Code of other variants need not be compiled: nothing runs it.
void keepVariant(plan::ProgramOp program, ModuleOp code, const kernels::CPUVariant &kept) {
  for (auto variant : llvm::make_early_inc_range(program.getOps<plan::VariantOp>()))
    if (variant.getSymName() != kept.name)
      variant.erase();
  for (auto function : llvm::make_early_inc_range(code.getOps<LLVM::LLVMFuncOp>()))
    for (const kernels::CPUVariant &variant : kernels::cpuVariants())
      if (variant.name != kept.name && function.getSymName().ends_with(variant.suffix)) {
        function.erase();
        break;
      }
}

/// The kernel as its contract says.
LoneKernel loneKernel(plan::KernelOp kernel) {
  LoneKernel lone;
  lone.symbol = kernel.getSymbol().str() + hostVariant()->suffix.str();
  lone.scratch = kernel.getScratch();
  auto contract = cast<plan::ContractAttr>((*kernel.getContracts())[0]);
  for (plan::OperandAttr operand : contract.getOperands()) {
    plan::Size size = plan::Size::fromMap(operand.getBytes()).value();
    int64_t perRow = size.getTerm(plan::SizeSymbol::Tokens) +
                     size.getTerm(plan::SizeSymbol::Outputs) +
                     size.getTerm(plan::SizeSymbol::Sequences);
    lone.operands.push_back({perRow ? perRow : size.constant, perRow != 0,
                             operand.getAccess() != plan::Access::Read});
  }
  return lone;
}

/// Kernels of the user's own are not known to do what every kernel must.
void checkUserKernels(plan::ProgramOp program, const fs::path &code) {
  for (auto kernel : program.getOps<plan::KernelOp>()) {
    if (kernel.getGenerator() != "user")
      continue;
    try {
      requireConfined(code, loneKernel(kernel));
    } catch (const std::exception &error) {
      throw InputError("kernel @" + kernel.getSymName().str() + ": " + error.what());
    }
  }
}

} // namespace

struct PlanRunner::Impl {
  std::shared_ptr<const frontend::Checkpoint> checkpoint;
  unsigned threads = 1;
  TemporaryFolder folder;
  KeptFile code, weights;
  unsigned runs = 0;
  /// Whose kernels of the user's own were called alone.
  uint64_t checkedCode = 0;

  void makeCode(ModuleOp module, const ErrorCollector &messages);
  void makeWeights(plan::ProgramOp program);
  void addFile(plan::ProgramOp program, const fs::path &folder, const std::string &name,
               const fs::path &from);
  void writeArtifact(PlanCopy &plan, const fs::path &to);
};

/// Compiling consumes the module.
void PlanRunner::Impl::makeCode(ModuleOp module, const ErrorCollector &messages) {
  uint64_t hash = hashOf(module);
  if (!code.path.empty() && code.hash == hash)
    return;
  code = {hash, folder.at("kernels-" + std::to_string(runs) + ".so")};
  if (failed(kernels::compileKernels(module, code.path.string()))) {
    code.path.clear();
    throw InputError("the kernels cannot be compiled: " + messages.text());
  }
}

void PlanRunner::Impl::makeWeights(plan::ProgramOp program) {
  uint64_t hash = hashOfWeights(program);
  if (!weights.path.empty() && weights.hash == hash)
    return;
  weights = {hash, folder.at("weights-" + std::to_string(runs) + ".bin")};
  try {
    writeWeightFile(program, *checkpoint, weights.path.string(), threads);
  } catch (...) {
    weights.path.clear();
    throw;
  }
}

void PlanRunner::Impl::addFile(plan::ProgramOp program, const fs::path &to,
                               const std::string &name, const fs::path &from) {
  fs::create_directories((to / name).parent_path());
  fs::create_hard_link(from, to / name);
  OpBuilder b = OpBuilder::atBlockBegin(&program.getBody().front());
  plan::FileOp::create(b, program.getLoc(), b.getStringAttr(name),
                       b.getI64IntegerAttr(int64_t(fs::file_size(from))),
                       b.getStringAttr(rt::sha256OfFile(from)));
}

void PlanRunner::Impl::writeArtifact(PlanCopy &plan, const fs::path &to) {
  ErrorCollector messages(*plan.context, /*printsRemarks=*/false);
  plan::ProgramOp program = plan.program();
  ModuleOp module = kernels::findKernelsModule(*plan.module);
  keepVariant(program, module, *hostVariant());
  program.setTargetAttr(
      plan::TargetAttr::get(program.getContext(), "cpu", program.getTarget().getTriple()));
  makeWeights(program);
  makeCode(module, messages);
  fs::create_directory(to);
  for (auto file : llvm::make_early_inc_range(program.getOps<plan::FileOp>()))
    file.erase();
  addFile(program, to, "kernels.so", code.path);
  for (plan::ArenaOp arena : program.getOps<plan::ArenaOp>())
    if (arena.getFile())
      addFile(program, to, arena.getFile()->str(), weights.path);
  auto manifest = plan::exportManifest(program);
  if (failed(manifest))
    throw InputError("the manifest cannot be written: " + messages.text());
  std::ofstream(to / "manifest.json", std::ios::binary) << *manifest;
}

PlanRunner::PlanRunner(std::shared_ptr<const frontend::Checkpoint> checkpoint, unsigned threads)
    : impl(std::make_unique<Impl>()) {
  impl->checkpoint = std::move(checkpoint);
  impl->threads = threads;
}

PlanRunner::~PlanRunner() = default;

llvm::Error PlanRunner::prepare(ModuleOp program) {
  if (impl->checkpoint)
    return llvm::Error::success();
  try {
    if (impl->folder.error)
      throw InputError("no temporary folder can be made: " + impl->folder.error.message());
    fs::path path = impl->folder.at("seeded.safetensors");
    SeededWeights drawn;
    writeCheckpointOf(program, drawn, path.string());
    impl->checkpoint = frontend::openSafetensors(path.string());
  } catch (const std::exception &error) {
    return llvm::createStringError(error.what());
  }
  return llvm::Error::success();
}

std::shared_ptr<reference::WeightSource> PlanRunner::weights() const {
  return std::make_shared<reference::CheckpointWeights>(impl->checkpoint);
}

std::string PlanRunner::missingFact(ModuleOp program) {
  auto facts = program->getAttrOfType<DictionaryAttr>("llm.model");
  for (auto [name, what] : {std::pair("vocab_size", "the logits of a row"),
                            std::pair("hidden_size", "the width of the stream")}) {
    auto value = facts ? facts.getAs<IntegerAttr>(name) : IntegerAttr();
    if (!value || value.getValue().getSExtValue() < 1)
      return std::string("llm.model of the module has no '") + name +
             "', which an artifact states: write " + name + " = N : i64 into it, " + what;
  }
  return "";
}

std::string PlanRunner::refusal(plan::ProgramOp program) {
  StringRef device = program.getTarget().getDevice();
  if (device != "cpu" && findTarget(device))
    return "target " + device.str() + " is not this machine";
  // What a vendor compiles as the cpu is code for it, as long as no lowering has taken it.
  for (auto kernel : program.getOps<plan::KernelOp>())
    if (kernel.getDevice())
      return "kernel @" + kernel.getSymName().str() + " is code for " + device.str() +
             ", which is not this machine";
  if (program.getRanks() != 1)
    return "it is a program of " + std::to_string(program.getRanks()) + " ranks";
  if (!hostVariant())
    return "this machine runs none of the CPU variants";
  return "";
}

llvm::Expected<ProgramRun> PlanRunner::run(PlanCopy &plan, llvm::ArrayRef<NamedStep> steps) {
  try {
    if (impl->folder.error)
      throw InputError("no temporary folder can be made: " + impl->folder.error.message());
    fs::path artifact = impl->folder.at("artifact-" + std::to_string(++impl->runs));
    impl->writeArtifact(plan, artifact);
    if (impl->checkedCode != impl->code.hash)
      checkUserKernels(plan.program(), artifact / "kernels.so");
    impl->checkedCode = impl->code.hash;
    ProgramRun run = executeArtifact(artifact, steps, impl->threads);
    fs::remove_all(artifact);
    return run;
  } catch (const std::exception &error) {
    return llvm::createStringError(error.what());
  }
}

} // namespace llmc
