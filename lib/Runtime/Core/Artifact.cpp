//===- Artifact.cpp - an opened artifact ----------------------------------===//

#include "llmc/Runtime/Artifact.h"
#include "llmc/Support/Error.h"

namespace llmc::rt {

std::shared_ptr<const Artifact> Artifact::open(const std::filesystem::path &folder,
                                               const ReadOptions &options) {
  return std::shared_ptr<const Artifact>(new Artifact(folder, readManifest(folder, options)));
}

const Tokenizer &Artifact::tokenizer() const {
  std::lock_guard lock(tokenizerMutex);
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
