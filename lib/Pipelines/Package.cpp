//===- Package.cpp - writing the artifact folder --------------------------===//
#include "Package.h"

#include "ArtifactFolder.h"
#include "FiniteWeights.h"
#include "WeightFile.h"
#include "llmc/Dialect/Plan/IR/PlanOps.h"
#include "llmc/Frontend/ResolvedModel.h"
#include "llmc/Frontend/TokenizerFields.h"
#include "llmc/Kernels/CPU/Backend.h"
#include "llmc/Kernels/CPU/UserKernels.h"
#include "llmc/Kernels/NVPTX/Backend.h"
#include "llmc/Kernels/Passes.h"
#include "llmc/Pipelines/Plugins.h"
#include "llmc/Runtime/ChatTemplate.h"
#include "llmc/Runtime/LeftOut.h"
#include "llmc/Runtime/TokenizerSpec.h"
#include "llmc/Support/Error.h"
#include "llmc/Support/Printable.h"
#include "llmc/Target/Manifest/Manifest.h"

#include "llvm/Support/Path.h"

#include <filesystem>

using namespace mlir;

namespace llmc {

static std::optional<rt::TokenizerSpec> tokenizerSpecOf(const frontend::ModelSource &source) {
  if (source.gguf) {
    if (source.gguf->tokenizer.model.empty())
      return std::nullopt;
    try {
      return rt::specFromGguf(frontend::tokenizerFields(source.gguf->tokenizer));
    } catch (const rt::UnsupportedTokenizer &) {
      throw;
    } catch (const InputError &error) {
      throw InputError(source.path + ": " + error.what());
    }
  }
  if (!source.tokenizerFolder.empty() && rt::hasTokenizerFile(source.tokenizerFolder))
    return rt::specFromHuggingFace(source.tokenizerFolder);
  return std::nullopt;
}

/// A model has rows for all ids that a text can give. Those of added tokens may lie beyond: a
/// text has them only where somebody writes them, and they are refused then.
static void checkIds(const rt::TokenizerSpec &spec, int64_t vocabulary) {
  std::vector<bool> added(spec.tokens.size());
  for (const rt::AddedToken &token : spec.addedTokens)
    added[size_t(token.id)] = true;
  std::string list;
  for (size_t id = size_t(vocabulary), shown = 0; id < spec.tokens.size(); ++id) {
    const rt::TokenEntry &token = spec.tokens[id];
    if (token.type == rt::TokenType::Unused)
      continue;
    if (!added[id])
      throw InputError("the tokenizer's token " + std::to_string(id) + " ('" + token.text +
                       "') is beyond the model's vocabulary of " + std::to_string(vocabulary) +
                       " (vocab_size); is it the tokenizer of another model?");
    if (++shown <= 3)
      list += (list.empty() ? "" : ", ") + std::to_string(id) + " ('" + token.text + "')";
    else if (shown == 4)
      list += " and more";
  }
  if (!list.empty())
    llvm::errs() << "llmc-opt: warning: added tokens of the tokenizer are beyond the model's "
                    "vocabulary of "
                 << vocabulary << ", and text with them is refused: "
                 << printable(list, /*line=*/true) << "\n";
}

/// The tokenizer's tables, or nothing where the model came without one. One that llmc does not
/// support does not stop the compilation, nor does such a chat template: token ids and plain
/// text still work. It is said here, and written down for those who miss it later.
static std::optional<std::string> tokenizerOf(const frontend::ModelSource &source,
                                              int64_t vocabulary,
                                              std::map<std::string, std::string> &leftOut) {
  try {
    std::optional<rt::TokenizerSpec> spec = tokenizerSpecOf(source);
    if (!spec)
      return std::nullopt;
    checkIds(*spec, vocabulary);
    try {
      if (!spec->chatTemplate.empty())
        rt::ChatTemplate parsed(spec->chatTemplate);
    } catch (const InputError &error) {
      llvm::errs() << "llmc-opt: warning: the model's chat template is left out: "
                   << printable(error.what()) << "\n";
      leftOut[rt::leftOutChatTemplate] = error.what();
      spec->chatTemplate.clear();
    }
    return spec->toBytes();
  } catch (const rt::UnsupportedTokenizer &error) {
    llvm::errs() << "llmc-opt: warning: the model's tokenizer is left out: "
                 << printable(error.what()) << "\n";
    leftOut[rt::leftOutTokenizer] = error.what();
    return std::nullopt;
  }
}

/// PTX of every device kernel, and machine code beside it where ptxas is found.
static void writeDeviceCode(ModuleOp kernels, ArtifactFolder &folder) {
  std::vector<kernels::nvptx::DeviceCode> code;
  if (failed(kernels::nvptx::lowerDeviceKernels(kernels)) ||
      failed(kernels::nvptx::emitDeviceCode(kernels, code)))
    throw InternalError("the device kernels could not be compiled");
  for (const kernels::nvptx::DeviceCode &one : code)
    for (auto [text, ending] : {std::pair(&one.ptx, ".ptx"), std::pair(&one.cubin, ".cubin")})
      if (!text->empty()) {
        folder.write("ptx/" + one.name + ending, *text);
        folder.record("ptx/" + one.name + ending);
      }
}

/// What a plug-in wrote for a chip of its own: the code stands in the plan.
static void writeGivenCode(plan::KernelOp kernel, StringAttr code, ArtifactFolder &folder) {
  plan::DeviceAttr device = kernel.getDeviceAttr();
  if (!device)
    throw InputError("kernel '" + kernel.getSymName().str() +
                     "' has code of its own (plan.code) and no device attribute that names its file");
  std::string path = device.getFile().str();
  if (!plan::isInsidePath(path))
    throw InputError("kernel '" + kernel.getSymName().str() + "': '" + path +
                     "' is no path inside the artifact");
  for (const ArtifactFile &file : folder.files())
    if (file.path == path)
      throw InputError("kernel '" + kernel.getSymName().str() + "': another kernel's code is in '" +
                       path + "' already");
  folder.write(path, code.getValue().str());
  folder.record(path);
}

static void compileKernelsTo(ModuleOp module, plan::ProgramOp program, ArtifactFolder &folder) {
  ModuleOp kernels = kernels::findKernelsModule(module);
  if (!kernels)
    throw InputError("the program has no kernels; run the kernels phase first");
  bool isDevice = false, isCores = false;
  for (plan::KernelOp kernel : program.getOps<plan::KernelOp>()) {
    if (auto code = kernel->getAttrOfType<StringAttr>("plan.code"))
      writeGivenCode(kernel, code, folder);
    else
      (kernel.getDevice() ? isDevice : isCores) = true;
  }
  if (isDevice)
    return writeDeviceCode(kernels, folder);
  if (!isCores)
    return;
  std::vector<kernels::ObjectCode> objects;
  if (std::string problem = kernels::readUserObjects(kernels, objects); !problem.empty())
    throw InputError(problem);
  std::string path = folder.pathOf("kernels.so");
  if (failed(kernels::compileKernels(kernels, path))) {
    folder.requireRoom("kernels.so", 16 << 20);
    if (!objects.empty())
      throw InputError("the kernels of the kernel library do not link with those of llmc");
    throw InternalError("the kernels could not be compiled");
  }
  folder.record("kernels.so");
}

/// The kernels that are not llmc's, which the user has taken upon himself: name, object and hash.
static SmallVector<Attribute> userKernels(plan::ProgramOp program) {
  SmallVector<Attribute> found;
  for (plan::KernelOp kernel : program.getOps<plan::KernelOp>()) {
    auto config = kernel->getAttrOfType<DictionaryAttr>("plan.config");
    if (kernel.getGenerator() != "user" || !config)
      continue;
    auto text = [&](StringRef name) {
      auto value = config.getAs<StringAttr>(name);
      return value ? value.getValue() : StringRef();
    };
    Attribute one = plan::AcceptedAttr::get(
        program.getContext(), ("user-kernel " + text("name")).str(),
        (llvm::sys::path::filename(text("object")) + " sha256 " + text("sha256")).str());
    if (!llvm::is_contained(found, one))
      found.push_back(one);
  }
  return found;
}

/// Code of others in the compiler: the plug-ins that it loaded, and the passes that it ran.
static SmallVector<Attribute> foreignCode(MLIRContext *context, ArrayRef<PhasePass> passes) {
  SmallVector<Attribute> found;
  for (const LoadedPlugin &plugin : loadedPlugins())
    found.push_back(plan::AcceptedAttr::get(context, plugin.kind + " " + plugin.name,
                                            "sha256 " + plugin.sha256));
  for (const PhasePass &pass : passes)
    found.push_back(plan::AcceptedAttr::get(
        context, ("phase-pass " + phaseName(pass.phase) + (pass.atEnd ? "-end" : "")).str(),
        pass.pipeline));
  return found;
}

/// Where the weights come from: the model itself, or --checkpoint beside a .mlir.
static std::shared_ptr<const frontend::Checkpoint>
checkpointOf(const frontend::ResolvedModel *resolved, const CompileOptions &options) {
  std::shared_ptr<const frontend::Checkpoint> found;
  if (!options.checkpoint.empty()) {
    StringRef path(options.checkpoint);
    if (path.ends_with(".gguf"))
      found = frontend::openGguf(options.checkpoint).checkpoint;
    else if (std::error_code error; std::filesystem::is_directory(options.checkpoint, error))
      found = frontend::openSafetensorsFolder(options.checkpoint);
    else
      found = frontend::openSafetensors(options.checkpoint);
    if (!found)
      throw InputError(options.checkpoint + ": holds no safetensors");
  } else if (resolved) {
    found = resolved->source->checkpoint;
  }
  if (!found)
    throw InputError(options.model + ": has no weights to pack; compile with --weights=none, "
                                     "or name a folder with safetensors or a GGUF file");
  return found;
}

/// What NaN or infinite weights there are: an error, or where they are allowed, exceptions.
static SmallVector<Attribute> checkFinite(plan::ProgramOp program,
                                          const frontend::Checkpoint &checkpoint,
                                          const CompileOptions &options) {
  SmallVector<Attribute> accepted;
  std::vector<std::string> found = findNonFiniteWeights(program, checkpoint, options.threads);
  if (!found.empty() && !options.allowNonFinite) {
    std::string list;
    for (size_t i = 0; i < found.size() && i < 5; ++i)
      list += "\n  " + found[i];
    if (found.size() > 5)
      list += "\n  and " + std::to_string(found.size() - 5) + " more tensors";
    throw InputError((options.checkpoint.empty() ? options.model : options.checkpoint) +
                     ": weights are not finite, and what is computed with them is not either. "
                     "Get the file again, or pack them as they are with --allow-nonfinite:" +
                     list);
  }
  for (const std::string &one : found)
    accepted.push_back(plan::AcceptedAttr::get(program.getContext(), "allow-nonfinite", one));
  return accepted;
}

/// One file for every rank, as the arena of weights names them.
static void writeWeightFiles(plan::ProgramOp program, const frontend::Checkpoint &checkpoint,
                             ArtifactFolder &folder, const CompileOptions &options,
                             Progress &progress) {
  ConversionReport report;
  for (plan::ArenaOp arena : program.getOps<plan::ArenaOp>()) {
    SmallVector<StringRef> files;
    if (arena.getFile())
      files.push_back(*arena.getFile());
    else if (arena.getRankFiles())
      llvm::append_range(files, arena.getRankFiles()->getAsValueRange<StringAttr>());
    for (auto [rank, file] : llvm::enumerate(files)) {
      writeWeightFile(program, checkpoint, folder.pathOf(file), options.threads, int64_t(rank),
                      [&](uint64_t done, uint64_t total) {
                        progress.advance("packing " + file.str(), done, total);
                      },
                      &report);
      folder.record(file);
    }
  }
  std::vector<ConversionReport::Entry> converted = report.entries();
  // Who asks for conversions finds the report, also of none.
  if (converted.empty() && options.descriptions.quantize.empty())
    return;
  folder.write("conversions.json", conversionJson(converted));
  folder.record("conversions.json");
  progress.clearLine();
  for (const std::string &line : conversionSummary(converted))
    llvm::errs() << "llmc-opt: note: " << printable(line, /*line=*/true) << "\n";
}

void packageArtifact(ModuleOp module, const frontend::ResolvedModel *resolved,
                     const CompileOptions &options, Progress &progress) {
  auto programs = llvm::to_vector(module.getOps<plan::ProgramOp>());
  if (programs.size() != 1)
    throw InternalError("expected one plan.program, found " + std::to_string(programs.size()));
  plan::ProgramOp program = programs.front();
  ArtifactFolder folder(options.output);
  compileKernelsTo(module, program, folder);

  SmallVector<Attribute> accepted;
  if (resolved)
    for (const auto &[key, value] : resolved->configLedger.accepted)
      accepted.push_back(plan::AcceptedAttr::get(module.getContext(), key, value));
  llvm::append_range(accepted, program.getAccepted());
  SmallVector<Attribute> foreign = foreignCode(module.getContext(), options.phase.passes);
  llvm::append_range(foreign, userKernels(program));
  for (Attribute one : foreign)
    if (!llvm::is_contained(accepted, one))
      accepted.push_back(one);
  if (options.weights == "packed") {
    auto checkpoint = checkpointOf(resolved, options);
    llvm::append_range(accepted, checkFinite(program, *checkpoint, options));
    writeWeightFiles(program, *checkpoint, folder, options, progress);
  } else {
    // Without a file an arena of weights says: there are none.
    for (plan::ArenaOp arena : program.getOps<plan::ArenaOp>())
      if (arena.getKind() == plan::ArenaKind::Weights) {
        arena.removeFileAttr();
        arena.removeRankFilesAttr();
      }
  }
  if (resolved) {
    std::map<std::string, std::string> leftOut;
    auto tokenizer = tokenizerOf(*resolved->source, resolved->vocabSize, leftOut);
    for (const auto &[what, why] : leftOut)
      accepted.push_back(plan::AcceptedAttr::get(module.getContext(), what, why));
    if (tokenizer) {
      folder.write("tokenizer.bin", *tokenizer);
      folder.record("tokenizer.bin");
      program.setTokenizer("tokenizer.bin");
    } else {
      llvm::errs() << "llmc-opt: note: no tokenizer: the artifact runs on token ids only (llmc "
                      "trace, llmc bench)\n";
    }
    int64_t context = program.getLimits().getMaxContext();
    if (context < program.getModel().getContextLength())
      llvm::errs() << "llmc-opt: note: sequences are limited to " << context << " of the model's "
                   << program.getModel().getContextLength()
                   << " positions; --max-context changes it\n";
  }
  program.setAcceptedAttr(ArrayAttr::get(module.getContext(), accepted));
  OpBuilder b = OpBuilder::atBlockBegin(&program.getBody().front());
  for (const ArtifactFile &file : folder.files())
    plan::FileOp::create(b, program.getLoc(), b.getStringAttr(file.path),
                         b.getI64IntegerAttr(int64_t(file.bytes)), b.getStringAttr(file.sha256));
  auto manifest = plan::exportManifest(program);
  if (failed(manifest))
    throw InternalError("the manifest could not be written");
  folder.write("manifest.json", *manifest);
  folder.commit();
}

} // namespace llmc
