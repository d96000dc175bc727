//===- QuantizationConfig.h - where a model says what it quantises -*- C++ -*-===//
#ifndef LLMC_FRONTEND_QUANTIZATIONCONFIG_H
#define LLMC_FRONTEND_QUANTIZATIONCONFIG_H

#include "llmc/Frontend/Json.h"
#include "llmc/Frontend/ModelSource.h"

#include <string>

namespace llmc::frontend {

/// What the config, or hf_quant_config.json beside it, says of quantised weights, and the file;
/// null for nothing. Of `source`.
const Json *quantizationOf(const ModelSource &source, std::string &file);

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_QUANTIZATIONCONFIG_H
