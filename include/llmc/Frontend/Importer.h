//===- Importer.h - from a resolved model to the llm dialect ----*- C++ -*-===//
//
// The MLIR end of the front end. Nothing here throws: a fault of the model is a
// diagnostic on the context and a null result.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_FRONTEND_IMPORTER_H
#define LLMC_FRONTEND_IMPORTER_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace llmc::frontend {

class OpLibrary;
class ResolvedModel;
struct ModelSource;

/// Format of weights by the `dtype` of a config: what they are taken to be where there are no
/// headers. Empty where it names none of f32, f16 and bf16.
llvm::StringRef publishedStorage(const ModelSource &source);
/// Where the config names another than that, or none that is known: which key says what. Else empty.
std::string publishedStorageDoubt(const ModelSource &source);

/// Builds the module: one function per layer kind, `@forward` marked `llm.entry`, weight
/// and state families, and `llm.model` facts. Locations are model paths at description
/// lines. The module is verified before it is returned. `library`: what the description's
/// `operations` are the signatures of, of this context; null for none.
mlir::OwningOpRef<mlir::ModuleOp> importModel(const ResolvedModel &model,
                                              mlir::MLIRContext &context,
                                              const OpLibrary *library = nullptr);

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_IMPORTER_H
