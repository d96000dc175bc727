//===- Validators.cpp - what numbers of the command line may be -----------===//
#include "Validators.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace llmc {

CLI::Validator wholeNumber(int64_t least, uint64_t most) {
  return CLI::Validator(
      [=](std::string &text) -> std::string {
        bool negative = text.starts_with('-');
        uint64_t size = 0;
        const char *begin = text.data() + negative, *end = text.data() + text.size();
        auto parsed = std::from_chars(begin, end, size);
        bool whole = parsed.ec == std::errc() && parsed.ptr == end && begin != end;
        if (whole && (negative ? size <= uint64_t(0) - uint64_t(std::min<int64_t>(least, 0))
                               : size <= most && (least <= 0 || size >= uint64_t(least))))
          return "";
        return text + " is no whole number from " + std::to_string(least) + " to " +
               std::to_string(most);
      },
      "");
}

CLI::Validator number(double least, double most) {
  return CLI::Validator(
      [=](std::string &text) -> std::string {
        double value = 0;
        const char *end = text.data() + text.size();
        auto parsed = std::from_chars(text.data(), end, value);
        if (parsed.ec == std::errc() && parsed.ptr == end && std::isfinite(value) &&
            value >= least && value <= most)
          return "";
        char range[64];
        std::snprintf(range, sizeof range, std::isfinite(most) ? "from %g to %g" : "of %g or more",
                      least, most);
        return text + " is no number " + range;
      },
      "");
}

} // namespace llmc
