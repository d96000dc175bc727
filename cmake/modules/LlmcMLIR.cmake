# Finds MLIR 22.1 with its shared libraries. The numbers are the traps of the
# Debian package that each line answers (docs/Upgrading.md).

# The package says compatible per major.minor only, so "22" alone is refused.
find_package(MLIR 22.1 REQUIRED CONFIG
  HINTS /usr/lib/llvm-22/lib/cmake/mlir $ENV{MLIR_DIR})
# The package does not export its dylib mode: without these two, every link
# pulls static archives and type ids differ between a tool and its plugins.
set(MLIR_LINK_MLIR_DYLIB ON)
set(LLVM_LINK_LLVM_DYLIB ON)
# Unset, add_mlir_doc writes to a docs folder at the root of the file system.
set(MLIR_BINARY_DIR ${CMAKE_BINARY_DIR})

list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# One definition that swallows the rest unless it is split first.
separate_arguments(LLMC_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
message(STATUS "llmc: MLIR ${LLVM_PACKAGE_VERSION} in ${MLIR_DIR}")

# lld's library compresses sections, so its archives want both libraries.
set(LLMC_LLD_LIBS lldELF lldCommon z zstd)
