# SPDX-License-Identifier: Apache-2.0
#
# fovea_add_library(<name>
#   VARIANTS  <source.cpp | catalogue name>…     sources with FOVEA_VARIANT, or names of shipped variants
#   [TARGETS   x86-sse41 x86-avx2 x86-avx512     default: every target of the host's architecture that is for one of DTYPES
#              x86-avx512-bf16-intel x86-avx512-bf16-amd]    these two hold kernels of bf16 only
#   [DTYPES    f32 f16 bf16]                     default: f32
#   [HEAD_DIMS 64 192/128]                       d_qk or d_qk/d_v; default: 64 128
#   [PASSES    prefill decode]                   default: prefill decode
#   [CACHES    none same int8 int4 e4m3 e5m2]    what keys and values are read from; default: none, rows as they are.
#                                                same: caches of the dtype itself; with caches come functions that append
#   [JOBS      <n>])                             kernels compiled at once; default: one per CPU
#
# Makes the static library <name>: kernels for every combination, registry and runtime in one archive that needs nothing
# but the C++ standard library, threads and dl. Its include folder holds <name>.h (C) and <name>.hpp (C++); the target
# property FOVEA_MANIFEST is the path of the JSON manifest.
#
# Low-level steps, for who wants them apart: the executable target <name>_generator, and the folder of what it emits in
# the target property FOVEA_OUTPUT_DIR.
include_guard(GLOBAL)

# One emission at a time: each already runs one compiler per CPU.
set_property(GLOBAL APPEND PROPERTY JOB_POOLS fovea_emit=1)

# The C runtime, compiled once per consuming project with that project's own flags (sanitizers, cross compilers).
function(_fovea_runtime_objects)
  if(TARGET fovea_runtime_objects)
    return()
  endif()
  include("${FOVEA_RUNTIME_DIR}/sources.cmake")
  add_library(fovea_runtime_objects OBJECT ${FOVEA_RUNTIME_SOURCES})
  target_compile_features(fovea_runtime_objects PRIVATE cxx_std_17)
  target_include_directories(fovea_runtime_objects PRIVATE "${FOVEA_RUNTIME_INCLUDE_DIR}")
  target_compile_options(fovea_runtime_objects PRIVATE ${FOVEA_RUNTIME_COMPILE_OPTIONS})
  # Its sources use the same names in unnamed namespaces, which a unity build of the project would throw together.
  set_target_properties(fovea_runtime_objects PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_EXTENSIONS ON UNITY_BUILD OFF)
endfunction()

function(fovea_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TUNED;JOBS" "VARIANTS;TARGETS;DTYPES;HEAD_DIMS;PASSES;CACHES")
  if(NOT CMAKE_CXX_COMPILER_LOADED)
    message(FATAL_ERROR "fovea_add_library(${name}): variants are written in C++; enable it: "
                        "project(… LANGUAGES CXX)")
  endif()
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "fovea_add_library(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}; "
                        "allowed are VARIANTS TARGETS DTYPES HEAD_DIMS PASSES CACHES JOBS")
  endif()
  if(arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "fovea_add_library(${name}): no value after ${arg_KEYWORDS_MISSING_VALUES}")
  endif()
  if(NOT arg_VARIANTS)
    message(FATAL_ERROR "fovea_add_library(${name}): VARIANTS needs at least one source or catalogue name")
  endif()
  if(DEFINED arg_TUNED)
    message(FATAL_ERROR "fovea_add_library(${name}): TUNED is not available in this version; "
                        "schedules are the documented defaults")
  endif()
  if(NOT DEFINED arg_JOBS)
    set(arg_JOBS 0)
  endif()

  set(sources "")
  foreach(variant IN LISTS arg_VARIANTS)
    if(variant MATCHES "\\.(cpp|cc|cxx)$")
      list(APPEND sources "${variant}")
      continue()
    endif()
    set(shipped "")
    foreach(dir IN LISTS FOVEA_CATALOGUE_DIRS)
      if(EXISTS "${dir}/${variant}.cpp")
        set(shipped "${dir}/${variant}.cpp")
      endif()
    endforeach()
    if(NOT shipped)
      list(TRANSFORM FOVEA_CATALOGUE_DIRS APPEND "/*.cpp" OUTPUT_VARIABLE patterns)
      file(GLOB known ${patterns})
      list(TRANSFORM known REPLACE ".*/(.+)\\.cpp$" "\\1")
      list(SORT known)
      list(JOIN known ", " known)
      message(FATAL_ERROR "fovea_add_library(${name}): VARIANTS '${variant}' is neither a source (*.cpp) nor one of "
                          "the catalogue: ${known}")
    endif()
    list(APPEND sources "${shipped}")
  endforeach()

  add_executable(${name}_generator ${sources})
  target_link_libraries(${name}_generator PRIVATE fovea::generator)

  set(dir "${CMAKE_CURRENT_BINARY_DIR}/${name}.fovea")
  set(kernels "${dir}/${name}_kernels.o")
  set(registry "${dir}/${name}_registry.cpp")
  set(headers "${dir}/include/${name}.h" "${dir}/include/${name}.hpp")
  set(manifest "${dir}/${name}.json")
  set(request "")
  foreach(pair TARGETS:--target DTYPES:--dtype HEAD_DIMS:--head-dim PASSES:--pass CACHES:--cache)
    string(REPLACE ":" ";" pair "${pair}")
    list(GET pair 0 keyword)
    list(GET pair 1 flag)
    foreach(value IN LISTS arg_${keyword})
      list(APPEND request ${flag} ${value})
    endforeach()
  endforeach()
  add_custom_command(
    OUTPUT ${kernels} ${registry} ${headers} ${manifest}
    COMMAND ${name}_generator emit --library ${name} --out ${dir} --jobs ${arg_JOBS} ${request}
            --identity-file $<TARGET_FILE:fovea::generator> --identity-file $<TARGET_FILE:fovea::dsl>
            --linker ${CMAKE_LINKER} --objcopy ${CMAKE_OBJCOPY}
    DEPENDS ${name}_generator
    COMMENT "Generating attention kernels of ${name}"
    JOB_POOL fovea_emit
    VERBATIM)

  _fovea_runtime_objects()
  add_library(${name} STATIC ${registry} ${kernels} ${headers} $<TARGET_OBJECTS:fovea_runtime_objects>)
  set_source_files_properties(${kernels} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  target_compile_features(${name} PUBLIC cxx_std_17)
  target_include_directories(${name} PUBLIC
    "$<BUILD_INTERFACE:${dir}/include>" "$<BUILD_INTERFACE:${FOVEA_RUNTIME_INCLUDE_DIR}>" $<INSTALL_INTERFACE:include>)
  find_package(Threads REQUIRED)
  target_link_libraries(${name} PUBLIC Threads::Threads ${CMAKE_DL_LIBS})
  set_target_properties(${name} PROPERTIES
    POSITION_INDEPENDENT_CODE ON
    FOVEA_OUTPUT_DIR "${dir}"
    FOVEA_MANIFEST "${manifest}")
endfunction()
