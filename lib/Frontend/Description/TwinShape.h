//===- TwinShape.h - what a twin has to keep --------------------*- C++ -*-===//
#ifndef LLMC_LIB_FRONTEND_DESCRIPTION_TWINSHAPE_H
#define LLMC_LIB_FRONTEND_DESCRIPTION_TWINSHAPE_H

#include "llmc/Frontend/ResolvedModel.h"

#include <map>
#include <set>

namespace llmc::frontend {

/// A number of an operation, by what it means.
struct TwinFact {
  enum class What : uint8_t {
    HeadWidth,    ///< of a head
    Heads,        ///< how many
    Ratio,        ///< heads that share a head of keys
    Window,       ///< positions that a token sees: window, chunk, selection
    Entry,        ///< tokens that become one entry
    Experts,      ///< that a router chooses from
    Chosen,       ///< experts of a token
    Groups,       ///< of experts
    Kept,         ///< groups of a token
    RotaryWidth,  ///< channels that turn
    RotaryWhole,  ///< whether these are all of a head
    RotaryLimit,  ///< positions within which rotation is as trained
    RotaryRamp,   ///< bits for the settings of a ramp that change a frequency
    Period,       ///< of a scale that grows with the position
    Bound,        ///< of values, by a clamp or a softcap; in thousandths
  };
  What what;
  int64_t value;
};

/// A model without its sizes: what it computes, and the numbers in the order in which they occur.
struct TwinShape {
  /// The operations of a kind of layer ("" for what is around the layers), sizes left out -> its
  /// numbers. Kinds that differ in sizes alone are one.
  std::map<std::string, std::vector<TwinFact>> kinds;
  /// Of each layer, a number for its text.
  std::vector<uint32_t> schedule;
  /// Whether two layers are alike.
  bool repeats = false;
  /// Sizes of each role's tensor (of the first layer that has it).
  std::map<std::string, std::vector<int64_t>> tensors;
  int64_t parameters = 0, context = 0, vocabulary = 0, hidden = 0;
  /// Of rotary records, for lists with a number for each pair.
  std::set<int64_t> rotaryPairs;
  /// Config keys that decide something, as the file spells them.
  std::set<std::string> keys;

  /// Throws InputError where the statements do not fit.
  static TwinShape of(const ResolvedModel &model);
  /// Whether all that must stay does.
  bool keeps(const TwinShape &original, bool needsRepeat) const;
  /// What a search makes smaller: of the parameters, and of limits that a short prompt should
  /// reach. In powers of two.
  double cost() const;
};

} // namespace llmc::frontend

#endif // LLMC_LIB_FRONTEND_DESCRIPTION_TWINSHAPE_H
