//===- LeftOut.h - what a compilation left out of an artifact ---*- C++ -*-===//
//
// Entries of the manifest's "accepted" with these keys say by their value why
// a part of the model is not in the artifact.
//
//===----------------------------------------------------------------------===//

#ifndef LLMC_RUNTIME_LEFTOUT_H
#define LLMC_RUNTIME_LEFTOUT_H

namespace llmc::rt {

inline constexpr const char *leftOutTokenizer = "tokenizer-left-out";
inline constexpr const char *leftOutChatTemplate = "chat-template-left-out";

} // namespace llmc::rt

#endif // LLMC_RUNTIME_LEFTOUT_H
