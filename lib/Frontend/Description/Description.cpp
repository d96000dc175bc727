//===- Description.cpp - what stands in a description ---------------------===//
#include "llmc/Frontend/Description.h"

namespace llmc::frontend {

const ParamDef *Description::findParam(const std::string &param) const {
  for (const ParamDef &def : params)
    if (def.name == param)
      return &def;
  return nullptr;
}
const BlockDef *Description::findBlock(const std::string &block) const {
  for (const BlockDef &def : blocks)
    if (def.name == block)
      return &def;
  return nullptr;
}
const TensorDef *Description::findTensor(const std::string &role) const {
  for (const TensorDef &def : tensors)
    if (def.role == role)
      return &def;
  for (const FormDef &form : forms)
    for (const TensorDef &def : form.tensors)
      if (def.role == role)
        return &def;
  return nullptr;
}

const Json *Description::findDefault(const std::string &key, const ParamDef &reader) const {
  for (const auto &[name, value] : defaults)
    if (name == key && value.fileIndex >= reader.fileIndex)
      return &value;
  return nullptr;
}

std::string biasName(const std::string &weightName) {
  constexpr std::string_view suffix = ".weight";
  return (weightName.ends_with(suffix) ? weightName.substr(0, weightName.size() - suffix.size())
                                       : weightName) +
         ".bias";
}

std::string PrefixDef::apply(const std::string &name) const {
  const std::pair<std::string, std::string> *best = nullptr;
  for (const auto &pair : replaced)
    if (name.starts_with(pair.first) && (!best || pair.first.size() > best->first.size()))
      best = &pair;
  return best ? best->second + name.substr(best->first.size()) : name;
}

} // namespace llmc::frontend
