//===- PrologueSpec.cpp - what a prologue may be, and its name ------------===//
#include "llmc/Kernels/CPU/AttentionKernels.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

namespace llmc::kernels {

std::string checkPrologue(const PrologueSpec &spec) {
  const PagedState &state = spec.state;
  if (!spec.q && !spec.k && !spec.v)
    return "a prologue needs one of q, k and v";
  if (spec.q && spec.heads <= 0)
    return "q has no heads";
  if ((spec.q || spec.k) && state.keyWidth <= 0)
    return "heads of q and k have no channels";
  if ((spec.k || spec.v) && state.heads <= 0)
    return "k and v have no heads";
  if ((spec.qOut || spec.qNorm) && !spec.q)
    return "q is normed or placed, but there is no q";
  if ((spec.kOut || spec.kNorm) && !spec.k)
    return "k is normed or placed, but there is no k";
  if (spec.vNorm && !spec.v)
    return "v is normed, but there is no v";
  for (const std::optional<HeadNorm> &norm : {spec.qNorm, spec.kNorm, spec.vNorm})
    if (norm && (norm->layer ? norm->offset != 0 : norm->bias.has_value()))
      return "a layer norm has no offset, another norm no bias";
  if (bool(spec.rest) != (spec.qRest || spec.kRest) || spec.rest < 0 ||
      spec.rest >= std::max<int64_t>(state.keyWidth, 1))
    return "the rest of heads of " + std::to_string(state.keyWidth) + " is " +
           std::to_string(spec.rest) + " channels from elsewhere";
  if (spec.rest && (bool(spec.q) != bool(spec.qRest) || bool(spec.k) != bool(spec.kRest) ||
                    (spec.q && !spec.qOut) || (spec.k && !spec.append && !spec.kOut) ||
                    spec.normAfterRotary || spec.group))
    return "heads in two parts are put together elsewhere, the norm first";
  if (spec.rotary) {
    const Rotary &rotary = *spec.rotary;
    if (rotary.width <= 0 || rotary.width % 2)
      return "rotary positions turn pairs: a width of " + std::to_string(rotary.width) +
             " is not even";
    if (rotary.beyond < 0)
      return "rotary positions change their frequencies beyond a length of " +
             std::to_string(rotary.beyond);
    if (rotary.first < 0 || rotary.first + rotary.width > state.keyWidth)
      return "rotary positions cover channels " + std::to_string(rotary.first) + " to " +
             std::to_string(rotary.first + rotary.width) + " of heads of " +
             std::to_string(state.keyWidth);
  }
  if (spec.v && !spec.append)
    return "v is only appended, but there is no append";
  if (spec.append && (!spec.k || state.valueWidth < 0 || state.blockTokens <= 0))
    return "an append needs k and the state's layout";
  if (spec.append && bool(spec.v) != (state.valueWidth > 0))
    return "an append needs v exactly where the state keeps values";
  if (spec.group && (spec.group < 2 || spec.group > INT32_MAX || !spec.append || spec.q ||
                     spec.kOut || state.heads != 1 || state.valueWidth))
    return "an entry is one head, appended for a group of at least 2 tokens without q and v";
  if (spec.group && spec.rotary && spec.rotary->beyond)
    return "entries turn by one row of frequencies";
  return "";
}

namespace {

void print(llvm::raw_ostream &os, char what, const std::optional<HeadRows> &rows) {
  if (rows)
    os << what << rows->operand << ',' << rows->stride << ',' << rows->offset << ','
       << rows->inner << ';';
}

void print(llvm::raw_ostream &os, std::optional<unsigned> operand) {
  if (operand)
    os << *operand;
  os << ',';
}

void print(llvm::raw_ostream &os, char what, const std::optional<HeadNorm> &norm) {
  if (!norm)
    return;
  os << what;
  print(os, norm->scale);
  print(os, norm->bias);
  os << unsigned(norm->element) << ',' << norm->layer << ','
     << llvm::bit_cast<uint32_t>(norm->eps) << ',' << llvm::bit_cast<uint32_t>(norm->offset) << ';';
}

} // namespace

std::string prologueKernelName(const PrologueSpec &spec) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << spec.heads << ',' << spec.state.heads << ',' << spec.state.keyWidth << ','
     << spec.state.valueWidth << ',' << spec.state.blockTokens << ';';
  print(os, 'q', spec.q);
  print(os, 'k', spec.k);
  print(os, 'v', spec.v);
  print(os, 'Q', spec.qOut);
  print(os, 'K', spec.kOut);
  print(os, 'n', spec.qNorm);
  print(os, 'm', spec.kNorm);
  print(os, 'w', spec.vNorm);
  print(os, 'R', spec.qRest);
  print(os, 'S', spec.kRest);
  os << spec.rest << ',' << spec.qTurns << ',' << spec.kTurns << ';';
  if (spec.rotary)
    os << 'r' << spec.rotary->invFreq << ',' << spec.rotary->width << ',' << spec.rotary->first
       << ',' << unsigned(spec.rotary->pairs) << ','
       << llvm::bit_cast<uint32_t>(spec.rotary->magnitude) << ',' << spec.rotary->beyond << ';';
  os << spec.normAfterRotary;
  if (spec.append)
    os << 'a' << *spec.append;
  if (spec.group)
    os << 'g' << spec.group;

  std::string name = "prologue";
  if (spec.qNorm || spec.kNorm || spec.vNorm)
    name += "_norm";
  if (spec.rotary)
    name += "_rotary";
  if (spec.append)
    name += spec.group ? "_entry" : "_append";
  return name + "_" + llvm::utohexstr(llvm::xxh3_64bits(text), /*LowerCase=*/true, /*Width=*/16);
}

} // namespace llmc::kernels
