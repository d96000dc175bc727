//===- InferSwitches.h - what tensors say of conditions ---------*- C++ -*-===//
#ifndef LLMC_LIB_FRONTEND_DESCRIPTION_INFERSWITCHES_H
#define LLMC_LIB_FRONTEND_DESCRIPTION_INFERSWITCHES_H

#include "InferSearch.h"

namespace llmc::frontend {

/// Layers in which a checkpoint holds tensors, by the ends of their names.
class TensorPlaces {
public:
  explicit TensorPlaces(const ModelSource &source);

  /// Null where no layer holds it.
  const std::set<int64_t> *layersOf(const std::string &tail) const {
    auto it = layers.find(tail);
    return it == layers.end() ? nullptr : &it->second;
  }

private:
  std::map<std::string, std::set<int64_t>> layers;
};

/// Parameters that are true or false and say which tensors a layer has, or which of two roads it
/// takes, set by the tensors that are there: "is_sparse(i)" is where the experts are. Only those that
/// have to do with what `state` leaves unexplained, and only where the tensors agree. Forms of which
/// the checkpoint holds nothing are removed.
Overlay switchesOf(const KnownDescription &base, const InferState &state,
                   const TensorPlaces &places);

} // namespace llmc::frontend

#endif // LLMC_LIB_FRONTEND_DESCRIPTION_INFERSWITCHES_H
