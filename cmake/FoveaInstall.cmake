# SPDX-License-Identifier: Apache-2.0
# The installed package: generator libraries, the fovea command, headers, runtime sources, catalogue, CMake files.
include(CMakePackageConfigHelpers)

set(fovea_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/fovea")
install(TARGETS fovea_dsl fovea_compiler fovea_generator EXPORT foveaTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS fovea RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# The command finds Halide where the build did: the wheel lies in no folder the loader knows.
get_target_property(fovea_halide_library Halide::Halide IMPORTED_LOCATION_RELEASE)
cmake_path(GET fovea_halide_library PARENT_PATH fovea_halide_library_dir)
set_target_properties(fovea PROPERTIES INSTALL_RPATH "${fovea_halide_library_dir}")
install(DIRECTORY dsl/include/fovea runtime/include/fovea DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY runtime/src DESTINATION ${CMAKE_INSTALL_DATADIR}/fovea/runtime)
install(FILES runtime/sources.cmake DESTINATION ${CMAKE_INSTALL_DATADIR}/fovea/runtime)
install(DIRECTORY dsl/variants dsl/presets DESTINATION ${CMAKE_INSTALL_DATADIR}/fovea FILES_MATCHING PATTERN "*.cpp")
install(DIRECTORY bench/peers DESTINATION ${CMAKE_INSTALL_DATADIR}/fovea FILES_MATCHING PATTERN "*.py")
install(DIRECTORY tuned DESTINATION ${CMAKE_INSTALL_DATADIR}/fovea FILES_MATCHING PATTERN "*.jsonl")
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/fovea)
install(EXPORT foveaTargets NAMESPACE fovea:: DESTINATION ${fovea_cmake_dir})

configure_package_config_file(cmake/foveaConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/foveaConfig.cmake
  INSTALL_DESTINATION ${fovea_cmake_dir}
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_DATADIR)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/foveaConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/foveaConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/foveaConfigVersion.cmake
  cmake/FoveaAddLibrary.cmake
  DESTINATION ${fovea_cmake_dir})
install(DIRECTORY cmake/host cmake/toolchains DESTINATION ${fovea_cmake_dir})
