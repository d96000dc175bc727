//===- InitAllPasses.h - every pass and pipeline of llmc --------*- C++ -*-===//
#ifndef LLMC_INITALLPASSES_H
#define LLMC_INITALLPASSES_H

namespace llmc {

/// llmc's passes and phase pipelines, and the upstream passes that go with them.
void registerAllPasses();

} // namespace llmc

#endif // LLMC_INITALLPASSES_H
