//===- ManifestChecker.h - shared state of the manifest's checks *- C++ -*-===//

#ifndef LLMC_RUNTIME_CORE_MANIFESTCHECKER_H
#define LLMC_RUNTIME_CORE_MANIFESTCHECKER_H

#include "ManifestJson.h"
#include "llmc/Runtime/Manifest.h"

#include <unordered_map>

namespace llmc::rt::detail {

inline constexpr size_t largestList = 16384;

inline std::string place(const std::string &list, size_t index) {
  return list + "[" + std::to_string(index) + "]";
}

class Checker {
public:
  using Names = std::unordered_map<std::string, int32_t>;

  Checker(Manifest &manifest, std::string_view file) : manifest(manifest), file(file) {}

  [[noreturn]] void fail(const std::string &path, const std::string &text) const {
    failAt(file, path, text);
  }

  void checkFiles();
  void checkRanks();
  void checkArenas();
  void checkSlices();
  void checkWeights();
  void checkStates();
  void checkKernels();
  void checkEntries();
  void checkAccepted();

private:
  /// The repeat a step stands in.
  struct Loop {
    const Step *repeat;
    int64_t first, last; ///< step numbers of its body
  };
  struct Use {
    bool read, write;
  };

  int32_t lookup(const Names &names, const std::string &name, const std::string &path,
                 const char *what) const;
  void aligned(int64_t value, const std::string &path) const;
  void checkLayers(const LayerSet &layers, const std::string &path) const;
  void checkStep(Step &step, const std::string &path, const Loop *loop);
  void checkLaunch(Step &step, const std::string &path, const Loop *loop);
  void checkOperand(Operand &operand, const std::string &path, const Loop *loop);
  void useSlice(int32_t index, Use use, const std::string &path, const Loop *loop);

  Manifest &manifest;
  std::string_view file;
  Names arenas, slices, weights, states, kernels, groups;
  int64_t number = 0;     ///< of the step that is looked at
  int64_t entryStart = 0; ///< number of its entry's first step
  int64_t commands = 0;   ///< with repeats unrolled
  std::vector<bool> written, touchedInLoop;
};

} // namespace llmc::rt::detail

#endif // LLMC_RUNTIME_CORE_MANIFESTCHECKER_H
