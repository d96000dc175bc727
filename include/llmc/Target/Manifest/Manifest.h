//===- Manifest.h - plan programs as manifest.json --------------*- C++ -*-===//
//
// The manifest's schema is docs/Manifest.md. Export and import are inverse: a
// manifest that export wrote comes back byte for byte after import and export,
// and a packed program comes back op for op, but for what the manifest does not
// hold (locations, `packing`, the order of ops of different kinds).
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_TARGET_MANIFEST_MANIFEST_H
#define LLMC_TARGET_MANIFEST_MANIFEST_H

#include "llmc/Dialect/Plan/IR/PlanOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>

namespace llmc::plan {

/// Version of the schema that is written; any minor up to it is read.
constexpr int64_t kManifestMajor = 4;
constexpr int64_t kManifestMinor = 0;

/// The manifest of a packed program, pretty printed with its keys in the order
/// of the schema. Fails with an error at an op that is not packed.
llvm::FailureOr<std::string> exportManifest(ProgramOp program);

/// A module that holds the program of a manifest, verified. Null after an error,
/// whose location is the path in the JSON, as `slices[3].live`; that path is the
/// location of imported ops too.
mlir::OwningOpRef<mlir::ModuleOp> importManifest(llvm::StringRef json,
                                                 mlir::MLIRContext *context);

/// Registers the translations plan-to-manifest and manifest-to-plan.
void registerManifestTranslations();

} // namespace llmc::plan

#endif // LLMC_TARGET_MANIFEST_MANIFEST_H
