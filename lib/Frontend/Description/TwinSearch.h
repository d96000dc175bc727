//===- TwinSearch.h - smaller numbers for a config --------------*- C++ -*-===//
#ifndef LLMC_LIB_FRONTEND_DESCRIPTION_TWINSEARCH_H
#define LLMC_LIB_FRONTEND_DESCRIPTION_TWINSEARCH_H

#include "TwinShape.h"
#include "llmc/Frontend/Twin.h"

#include <functional>
#include <unordered_set>

namespace llmc::frontend {

/// Numbers of a config with one value at one place, the places of a list being one: such as all
/// the 24576 among the widths of the layers.
struct ConfigNumber {
  /// "text_config.hidden_size", "intermediate_size[]".
  std::string path;
  int64_t value = 0;
  friend bool operator==(const ConfigNumber &, const ConfigNumber &) = default;
};

/// Makes the numbers of a config smaller while everything holds that TwinShape::keeps.
class TwinSearch {
public:
  /// The model of a config; throws InputError where it has none.
  using Resolve = std::function<std::shared_ptr<const ResolvedModel>(const Json &config)>;

  /// Throws InputError where the config itself does not resolve.
  TwinSearch(Json config, Resolve resolve);

  void run();
  const Json &config() const { return now; }
  const TwinShape &shape() const { return best; }
  const TwinShape &originalShape() const { return original; }
  /// Keys that decide something and whose numbers, or lists, are still large.
  std::vector<TwinKey> largeKeys() const;

private:
  /// A new value for some of the numbers.
  using Move = std::vector<std::pair<ConfigNumber, int64_t>>;

  std::vector<ConfigNumber> numbers() const;
  bool decides(const std::string &path) const;
  /// The shape of a config, or nothing where it does not resolve.
  std::optional<TwinShape> shapeOf(const Json &config) const;
  /// Takes a config that keeps everything and costs less.
  bool take(const Json &config);
  bool takeMove(const Move &move);

  // TwinLayers.cpp
  void shrinkTokenIds();
  void shrinkLayers();
  bool tryLayers(int64_t count, const std::vector<Json> &starts, const Move &move);

  void shrinkWidths();
  bool shrinkSingly();
  bool shrinkInPairs();
  void shrinkBounds();
  std::vector<std::pair<std::string, Value>> absentKeys() const;
  bool addAbsent();
  void removeAdded();

  Resolve resolve;
  Json now;
  TwinShape original, best;
  bool needsRepeat = false;
  /// Configs that were tried, as texts.
  std::unordered_set<std::string> tried;
  /// Keys that addAbsent wrote down.
  std::vector<std::string> added;
};

/// Every number at such a place becomes another.
void replaceNumber(Json &config, const ConfigNumber &number, int64_t value);
/// Calls `visit` with every value of a config and its path.
void visitConfig(Json &json, const std::string &path,
                 const std::function<void(const std::string &path, Json &value)> &visit);

} // namespace llmc::frontend

#endif // LLMC_LIB_FRONTEND_DESCRIPTION_TWINSEARCH_H
