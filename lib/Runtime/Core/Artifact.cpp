//===- Artifact.cpp - an opened artifact ----------------------------------===//

#include "llmc/Runtime/Artifact.h"
#include "llmc/Runtime/LeftOut.h"
#include "llmc/Support/Error.h"

namespace llmc::rt {

std::shared_ptr<const Artifact> Artifact::open(const std::filesystem::path &folder,
                                               const ReadOptions &options) {
  return std::shared_ptr<const Artifact>(new Artifact(folder, readManifest(folder, options)));
}

std::string Artifact::whyLeftOut(const std::string &what) const {
  for (const AcceptedException &accepted : description.accepted)
    if (accepted.key == what)
      return accepted.value;
  return "";
}

const Tokenizer &Artifact::tokenizer() const {
  std::lock_guard lock(tokenizerMutex);
  if (std::string why = whyLeftOut(leftOutTokenizer); !hasTokenizer() && !why.empty())
    throw InputError(manifestPath() +
                     ": tokenizer: the compilation left the model's out, as it is not supported: " +
                     why + " The artifact runs on token ids only (llmc trace, llmc bench)");
  if (!hasTokenizer())
    throw InputError(manifestPath() +
                     ": tokenizer: the artifact has none, because the model came "
                     "without. It runs on token ids only (llmc trace, llmc bench); for "
                     "text, compile it from a folder or file with a tokenizer");
  if (!loadedTokenizer)
    loadedTokenizer =
        std::make_unique<Tokenizer>(Tokenizer::fromFile(dir / description.tokenizerFile));
  return *loadedTokenizer;
}

} // namespace llmc::rt
