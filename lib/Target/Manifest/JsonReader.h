//===- JsonReader.h - checked access to a manifest's JSON -------*- C++ -*-===//
#ifndef LLMC_LIB_TARGET_MANIFEST_JSONREADER_H
#define LLMC_LIB_TARGET_MANIFEST_JSONREADER_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"

#include <optional>
#include <string>

namespace llmc::plan {

/// Reports problems at paths of a JSON document, only the first one: what is
/// read after it is made up.
class JsonReader {
public:
  explicit JsonReader(mlir::MLIRContext *context) : context(context) {}

  /// The location that stands for a path.
  mlir::Location getLoc(llvm::StringRef path) const;
  /// A diagnostic at the path; dropped when there was one before.
  mlir::InFlightDiagnostic emit(llvm::StringRef path);
  void fail(llvm::StringRef path, const llvm::Twine &message) { emit(path) << message; }
  bool failed() const { return hasFailed; }
  mlir::MLIRContext *getContext() const { return context; }

private:
  mlir::MLIRContext *context;
  bool hasFailed = false;
};

/// One object of the document. Accessors report a missing key, another type or a
/// value out of range, and return a harmless value then. `finish` reports keys
/// that nobody asked for.
class JsonObject {
public:
  JsonObject(JsonReader &reader, const llvm::json::Value &value, std::string path);

  JsonReader &getReader() const { return reader; }
  const std::string &getPath() const { return path; }
  std::string getPath(llvm::StringRef key) const;

  bool has(llvm::StringRef key);
  /// An integer from `least` to 2^53. `otherwise` stands for a missing key.
  int64_t integer(llvm::StringRef key, int64_t least = 0,
                  std::optional<int64_t> otherwise = std::nullopt);
  std::optional<int64_t> optionalInteger(llvm::StringRef key, int64_t least = 0);
  bool boolean(llvm::StringRef key, bool otherwise);
  llvm::StringRef string(llvm::StringRef key,
                         std::optional<llvm::StringRef> otherwise = std::nullopt);
  /// An empty object, with the problem reported, where there is none.
  JsonObject object(llvm::StringRef key);
  /// Calls `visit` for every object of a list, then finishes it.
  void objects(llvm::StringRef key, llvm::function_ref<void(JsonObject &)> visit);
  llvm::SmallVector<int64_t> integers(llvm::StringRef key, int64_t least = 0);
  llvm::SmallVector<double> numbers(llvm::StringRef key);
  llvm::SmallVector<llvm::StringRef> strings(llvm::StringRef key);
  /// Calls `visit` for every value of a list; a missing key is an empty list.
  void list(llvm::StringRef key,
            llvm::function_ref<void(const llvm::json::Value &, std::string)> visit);

  /// A value of an enum by the name that `symbolize` knows.
  template <typename EnumT>
  EnumT oneOf(llvm::StringRef key, std::optional<EnumT> (*symbolize)(llvm::StringRef)) {
    llvm::StringRef name = string(key);
    std::optional<EnumT> value = symbolize(name);
    if (!value)
      reader.fail(getPath(key), "has no value called '" + name + "'");
    return value.value_or(EnumT());
  }

  void finish();

  /// The integer in a value of a list.
  static int64_t asInteger(JsonReader &reader, const llvm::json::Value &value,
                           llvm::StringRef path, int64_t least);

private:
  /// The value of a key, null with the problem reported when it is missing.
  const llvm::json::Value *get(llvm::StringRef key);

  JsonReader &reader;
  const llvm::json::Object *fields;
  std::string path;
  llvm::StringSet<> asked;
};

} // namespace llmc::plan

#endif // LLMC_LIB_TARGET_MANIFEST_JSONREADER_H
