//===- SpecArchive.h - one description of a spec, both directions -*- C++ -*-===//
//
// `describe(archive, spec)` lists a spec's fields once; SpecWriter makes a
// dictionary of them and SpecReader fills them, so that the two cannot part.
// Fields at their default are left out.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_LIB_KERNELS_SPECARCHIVE_H
#define LLMC_LIB_KERNELS_SPECARCHIVE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace llmc::kernels {

class SpecWriter {
public:
  explicit SpecWriter(mlir::MLIRContext *context) : b(context) {}

  template <typename T>
  void operator()(llvm::StringRef name, const T &value, const T &standard = T()) {
    if constexpr (std::is_class_v<T> && !std::is_same_v<T, std::string>) {
      fields.set(name, nested(value));
    } else {
      if (!(value == standard))
        fields.set(name, scalar(value));
    }
  }
  template <typename T>
  void operator()(llvm::StringRef name, const std::optional<T> &value) {
    if (value)
      fields.set(name, any(*value));
  }
  template <typename T>
  void operator()(llvm::StringRef name, const std::vector<T> &values) {
    llvm::SmallVector<mlir::Attribute> list;
    for (const T &value : values)
      list.push_back(any(value));
    fields.set(name, b.getArrayAttr(list));
  }
  mlir::DictionaryAttr take() { return fields.getDictionary(b.getContext()); }

private:
  template <typename T>
  mlir::Attribute any(const T &value) {
    if constexpr (std::is_class_v<T> && !std::is_same_v<T, std::string>)
      return nested(value);
    else
      return scalar(value);
  }
  template <typename T>
  mlir::Attribute nested(const T &value) {
    SpecWriter inner(b.getContext());
    describe(inner, const_cast<T &>(value));
    return inner.take();
  }
  template <typename T>
  mlir::Attribute scalar(const T &value) {
    if constexpr (std::is_same_v<T, std::string>)
      return b.getStringAttr(value);
    else if constexpr (std::is_same_v<T, bool>)
      return b.getBoolAttr(value);
    else if constexpr (std::is_floating_point_v<T>)
      return b.getFloatAttr(std::is_same_v<T, float> ? mlir::Type(b.getF32Type())
                                                     : mlir::Type(b.getF64Type()),
                            value);
    else
      return b.getI64IntegerAttr(int64_t(value));
  }

  mlir::Builder b;
  mlir::NamedAttrList fields;
};

class SpecReader {
public:
  explicit SpecReader(mlir::DictionaryAttr fields) : fields(fields) {}

  template <typename T>
  void operator()(llvm::StringRef name, T &value, const T &standard = T()) {
    value = standard;
    if (mlir::Attribute attr = take(name))
      any(name, attr, value);
  }
  template <typename T>
  void operator()(llvm::StringRef name, std::optional<T> &value) {
    value.reset();
    if (mlir::Attribute attr = take(name))
      any(name, attr, value.emplace());
  }
  template <typename T>
  void operator()(llvm::StringRef name, std::vector<T> &values) {
    values.clear();
    auto list = llvm::dyn_cast_or_null<mlir::ArrayAttr>(take(name));
    if (!list)
      return fail(name, "must be a list");
    for (mlir::Attribute attr : list)
      any(name, attr, values.emplace_back());
  }
  /// A field has a value of its type, but no meaning.
  void refuse(llvm::StringRef name, llvm::StringRef what) { fail(name, what); }
  /// What is wrong, empty when nothing: a field of another type, or one nobody reads.
  std::string problem() const {
    if (error.empty() && seen != fields.size())
      for (mlir::NamedAttribute field : fields)
        if (!names.count(field.getName().getValue()))
          return "unknown parameter '" + field.getName().str() + "'";
    return error;
  }

private:
  mlir::Attribute take(llvm::StringRef name) {
    mlir::Attribute attr = fields.get(name);
    seen += attr != nullptr;
    if (attr)
      names.insert(name);
    return attr;
  }
  void fail(llvm::StringRef name, llvm::StringRef what) {
    if (error.empty())
      error = ("parameter '" + name + "' " + what).str();
  }
  template <typename T>
  void any(llvm::StringRef name, mlir::Attribute attr, T &value) {
    if constexpr (std::is_same_v<T, std::string>) {
      if (auto text = llvm::dyn_cast<mlir::StringAttr>(attr))
        value = text.str();
      else
        fail(name, "must be a text");
    } else if constexpr (std::is_class_v<T>) {
      auto dictionary = llvm::dyn_cast<mlir::DictionaryAttr>(attr);
      if (!dictionary)
        return fail(name, "must be a dictionary");
      SpecReader inner(dictionary);
      describe(inner, value);
      if (error.empty())
        error = inner.problem();
    } else if constexpr (std::is_floating_point_v<T>) {
      if (auto number = llvm::dyn_cast<mlir::FloatAttr>(attr))
        value = T(number.getValueAsDouble());
      else
        fail(name, "must be a float");
    } else {
      // A bool attribute is an integer attribute of one bit.
      if (auto number = llvm::dyn_cast<mlir::IntegerAttr>(attr))
        value = T(std::is_same_v<T, bool> ? number.getValue().getBoolValue()
                                          : number.getValue().getSExtValue());
      else
        fail(name, "must be an integer");
    }
  }

  mlir::DictionaryAttr fields;
  size_t seen = 0;
  llvm::DenseSet<llvm::StringRef> names;
  std::string error;
};

} // namespace llmc::kernels

#endif // LLMC_LIB_KERNELS_SPECARCHIVE_H
