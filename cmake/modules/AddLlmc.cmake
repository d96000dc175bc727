# Functions that declare llmc's targets. Two flag sets exist:
#   plain  readers, front end, runtime, tools: exceptions and RTTI
#   MLIR   targets that face MLIR: RTTI and no exceptions, as the package has it

add_compile_options(-Wall -Wextra -Wno-unused-parameter)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # ccache keeps precompiled headers only without time stamps in them.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
endif()
if(LLMC_SANITIZE)
  add_compile_options(-fsanitize=${LLMC_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${LLMC_SANITIZE})
endif()

# A source folder's object library, gathered into one of the two shared
# libraries: libllmc-runtime.so (below lib/Runtime) or libllmc-compiler.so.
#   llmc_add_library(NAME SRCS... [MLIR [EXCEPTIONS]] [LINK_LIBS ...] [DEPENDS ...])
function(llmc_add_library name)
  cmake_parse_arguments(ARG "MLIR;EXCEPTIONS" "" "LINK_LIBS;DEPENDS" ${ARGN})
  add_library(${name} OBJECT ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS})
  llmc_flags(${name} "${ARG_MLIR}" "${ARG_EXCEPTIONS}")
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  if(CMAKE_CURRENT_SOURCE_DIR MATCHES "^${CMAKE_SOURCE_DIR}/lib/Runtime(/|$)")
    set_property(GLOBAL APPEND PROPERTY LLMC_RUNTIME_LIBS ${name})
  else()
    set_property(GLOBAL APPEND PROPERTY LLMC_COMPILER_LIBS ${name})
  endif()
endfunction()

# A target that faces MLIR and calls the front end catches its exceptions, so
# it is compiled with them; none may pass through a frame of MLIR.
function(llmc_flags name faces_mlir)
  if(faces_mlir AND ARGV2)
    target_include_directories(${name} SYSTEM PUBLIC ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
    target_compile_definitions(${name} PRIVATE ${LLMC_LLVM_DEFINITIONS})
  elseif(faces_mlir)
    target_include_directories(${name} SYSTEM PUBLIC ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
    target_compile_definitions(${name} PRIVATE ${LLMC_LLVM_DEFINITIONS})
    target_compile_options(${name} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions>")
    if(TARGET LLMCMLIRPCH AND NOT name STREQUAL "LLMCMLIRPCH")
      target_precompile_headers(${name} REUSE_FROM LLMCMLIRPCH)
    endif()
  elseif(TARGET LLMCPlainPCH)
    target_precompile_headers(${name} REUSE_FROM LLMCPlainPCH)
  endif()
endfunction()

# A program of the tools folder.
#   llmc_add_tool(NAME SRCS... [MLIR [EXCEPTIONS]] [LINK_LIBS ...])
function(llmc_add_tool name)
  cmake_parse_arguments(ARG "MLIR;EXCEPTIONS" "" "LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS})
  llmc_flags(${name} "${ARG_MLIR}" "${ARG_EXCEPTIONS}")
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

# A GoogleTest program, run by ctest as one test.
#   llmc_add_unittest(NAME SRCS... [MLIR [EXCEPTIONS]] [LINK_LIBS ...])
function(llmc_add_unittest name)
  cmake_parse_arguments(ARG "MLIR;EXCEPTIONS" "" "LINK_LIBS" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS} GTest::gtest GTest::gmock GTest::gtest_main)
  llmc_flags(${name} "${ARG_MLIR}" "${ARG_EXCEPTIONS}")
  set_property(GLOBAL APPEND PROPERTY LLMC_UNITTESTS ${name})
  add_test(NAME unit/${name} COMMAND ${name})
  set(env "LLMC_TEST_SOURCE_DIR=${CMAKE_SOURCE_DIR}")
  if(EXISTS ${CMAKE_SOURCE_DIR}/../shared/checks/check.py)
    list(APPEND env "LLMC_TEST_SHARED=${CMAKE_SOURCE_DIR}/../shared")
  endif()
  set_tests_properties(unit/${name} PROPERTIES ENVIRONMENT "${env}")
endfunction()

# TableGen records of one dialect: <Name>Dialect.td, <Name>Ops.td (which
# includes the family files), types, attributes, enums and interfaces as present.
function(llmc_add_dialect stem namespace)
  set(LLVM_TARGET_DEFINITIONS ${stem}Ops.td)
  mlir_tablegen(${stem}Ops.h.inc -gen-op-decls -dialect=${namespace})
  mlir_tablegen(${stem}Ops.cpp.inc -gen-op-defs -dialect=${namespace})
  mlir_tablegen(${stem}Types.h.inc -gen-typedef-decls -typedefs-dialect=${namespace})
  mlir_tablegen(${stem}Types.cpp.inc -gen-typedef-defs -typedefs-dialect=${namespace})
  mlir_tablegen(${stem}Attrs.h.inc -gen-attrdef-decls -attrdefs-dialect=${namespace})
  mlir_tablegen(${stem}Attrs.cpp.inc -gen-attrdef-defs -attrdefs-dialect=${namespace})
  mlir_tablegen(${stem}Enums.h.inc -gen-enum-decls)
  mlir_tablegen(${stem}Enums.cpp.inc -gen-enum-defs)
  mlir_tablegen(${stem}Dialect.h.inc -gen-dialect-decls -dialect=${namespace})
  mlir_tablegen(${stem}Dialect.cpp.inc -gen-dialect-defs -dialect=${namespace})
  add_public_tablegen_target(LLMC${stem}IncGen)
  set_property(GLOBAL APPEND PROPERTY LLMC_TABLEGEN LLMC${stem}IncGen)
endfunction()

# Declarations of the passes of one Passes.td.
function(llmc_add_passes target group)
  set(LLVM_TARGET_DEFINITIONS Passes.td)
  mlir_tablegen(Passes.h.inc -gen-pass-decls -name=${group})
  add_public_tablegen_target(${target})
  set_property(GLOBAL APPEND PROPERTY LLMC_TABLEGEN ${target})
endfunction()
