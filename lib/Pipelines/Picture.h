//===- Picture.h - a program to look at -------------------------*- C++ -*-===//
#ifndef LLMC_LIB_PIPELINES_PICTURE_H
#define LLMC_LIB_PIPELINES_PICTURE_H

#include "FusionReport.h"
#include "ProgramView.h"

#include "llvm/Support/raw_ostream.h"

namespace llmc {

/// A graph for graphviz: a cluster for each kind of layer, and in it one for each fusion.
void printDot(const ProgramView &view, llvm::raw_ostream &out);

/// One page that needs nothing else: no script, no network. `llm` has the fusions, `plan` the
/// launches and the memory of the same program.
void printHtml(const ProgramView &llm, const ProgramView &plan, const FusionReport &report,
               const Explanation &explanation, llvm::raw_ostream &out);

/// Text for HTML: `&`, `<`, `>` and both quotes escaped, what is no UTF-8 replaced, other
/// control characters than line ends left out.
std::string htmlText(llvm::StringRef text);

} // namespace llmc

#endif // LLMC_LIB_PIPELINES_PICTURE_H
