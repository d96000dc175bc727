//===- Runtime.h - all of the runtime's C++ interface -----------*- C++ -*-===//

#ifndef LLMC_RUNTIME_RUNTIME_H
#define LLMC_RUNTIME_RUNTIME_H

#include "llmc/Runtime/Artifact.h"
#include "llmc/Runtime/Batch.h"
#include "llmc/Runtime/Device.h"
#include "llmc/Runtime/Generate.h"
#include "llmc/Runtime/Scheduler.h"
#include "llmc/Runtime/Session.h"
#include "llmc/Runtime/Trace.h"

#endif // LLMC_RUNTIME_RUNTIME_H
