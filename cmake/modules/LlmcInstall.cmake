# Headers, descriptions and the CMake package; find_package(LLMC) gives
# LLMC::compiler and LLMC::runtime.
include(CMakePackageConfigHelpers)

install(DIRECTORY include/llmc DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.td")
install(DIRECTORY ${CMAKE_BINARY_DIR}/include/llmc DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.inc" PATTERN "CMakeFiles" EXCLUDE)
install(DIRECTORY models targets DESTINATION ${CMAKE_INSTALL_DATADIR}/llmc)
install(FILES docs/Reference/LLM.md DESTINATION ${CMAKE_INSTALL_DATADIR}/llmc/reference)
install(EXPORT LLMCTargets NAMESPACE LLMC:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/LLMC)
configure_package_config_file(cmake/modules/LLMCConfig.cmake.in ${CMAKE_BINARY_DIR}/LLMCConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/LLMC)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/LLMCConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/LLMCConfig.cmake ${CMAKE_BINARY_DIR}/LLMCConfigVersion.cmake
  cmake/modules/LlmcMLIR.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/LLMC)
