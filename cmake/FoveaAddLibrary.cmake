# SPDX-License-Identifier: Apache-2.0
#
# fovea_add_library(<name>
#   VARIANTS  <source.cpp | catalogue name>…     sources with FOVEA_VARIANT, or names of shipped variants
#   [TARGETS   x86-sse41 x86-avx2 x86-avx512     default: every target of the architecture built for that is for one of DTYPES
#              x86-avx512-bf16-intel x86-avx512-bf16-amd     these two hold kernels of bf16 only
#              arm64-neon arm64-neon-fp16                    the second one kernels of f16 only
#              opencl cuda-sm70 cuda-sm80 cuda-sm86]         devices, beside targets of x86 only and never by default
#   [DTYPES    f32 f16 bf16]                     default: f32
#   [HEAD_DIMS 64 192/128]                       d_qk or d_qk/d_v; default: 64 128
#   [PASSES    prefill decode]                   default: prefill decode
#   [CACHES    none same int8 int4 e4m3 e5m2]    what keys and values are read from; default: none, rows as they are.
#                                                same: caches of the dtype itself; with caches come functions that append
#   [TUNED     mine.jsonl x86-zen4]              files of fovea tune, or names of shipped ones; for each kernel the first that
#                                                has an entry; default: none, documented default schedules
#   [JOBS      <n>])                             kernels compiled at once; default: one per CPU
#
# Makes the static library <name>: kernels for every combination, registry and runtime in one archive that needs nothing
# but the C++ standard library, threads and dl. Its include folder holds <name>.h (C) and <name>.hpp (C++); the target
# property FOVEA_MANIFEST is the path of the JSON manifest.
#
# Cross builds: the generator is a program of the machine that builds. When CMake cross-compiles, it is made by a project of
# its own (cmake/host) with the compiler of that machine, and emits for the machine that CMake compiles for. Variables:
#   FOVEA_HOST_CXX_COMPILER   compiler of the machine that builds; default: c++, g++ or clang++ on PATH
#   FOVEA_HOST_PREFIX_PATH    where fovea and Halide are installed for it; default: CMAKE_PREFIX_PATH
#   Halide_DIR                Halide's CMake folder, if it is not found there
#
# Low-level steps, for who wants them apart:
#
# fovea_emit_library(<name> [ARCHITECTURE x86|arm64] …as above)
#
# makes the program <name>_generator, or in a cross build its project, and the target <name>_emit of what it emits; the
# property FOVEA_OUTPUT_DIR of that target and of the library is the folder, FOVEA_OUTPUTS the files that others use.
include_guard(GLOBAL)

# One emission at a time: each already runs one compiler per CPU.
set_property(GLOBAL APPEND PROPERTY JOB_POOLS fovea_emit=1)

# The architecture that the project is built for, as in the table of targets.
function(_fovea_architecture result)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    set(${result} x86 PARENT_SCOPE)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64|ARM64)$")
    set(${result} arm64 PARENT_SCOPE)
  else()
    message(FATAL_ERROR "fovea_add_library: CMAKE_SYSTEM_PROCESSOR is '${CMAKE_SYSTEM_PROCESSOR}': allowed is x86_64 or "
                        "aarch64")
  endif()
endfunction()

# Sources of the variants as absolute paths.
function(_fovea_variant_sources name variants result)
  set(sources "")
  foreach(variant IN LISTS variants)
    if(variant MATCHES "\\.(cpp|cc|cxx)$")
      cmake_path(ABSOLUTE_PATH variant BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
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
  set(${result} "${sources}" PARENT_SCOPE)
endfunction()

# Tuning files as absolute paths.
function(_fovea_tuned_files name files result)
  set(found "")
  foreach(file IN LISTS files)
    if(NOT file MATCHES "\\.jsonl$")
      set(shipped "${FOVEA_TUNED_DIR}/${file}.jsonl")
      if(NOT EXISTS "${shipped}")
        file(GLOB known "${FOVEA_TUNED_DIR}/*.jsonl")
        list(TRANSFORM known REPLACE ".*/(.+)\\.jsonl$" "\\1")
        list(SORT known)
        list(JOIN known ", " known)
        message(FATAL_ERROR "fovea_add_library(${name}): TUNED '${file}' is neither a file (*.jsonl) nor one of the "
                            "shipped ones: ${known}")
      endif()
      set(file "${shipped}")
    endif()
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
    if(NOT EXISTS "${file}")
      message(FATAL_ERROR "fovea_add_library(${name}): TUNED '${file}' does not exist; fovea tune --out writes such files")
    endif()
    list(APPEND found "${file}")
  endforeach()
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

# The generator as a program of this build.
function(_fovea_emit_here name dir sources outputs request)
  # A tuning file that changes makes the library anew.
  set(tuned "${request}")
  list(FILTER tuned INCLUDE REGEX "\\.jsonl$")
  add_executable(${name}_generator ${sources})
  target_link_libraries(${name}_generator PRIVATE fovea::generator)
  add_custom_command(
    OUTPUT ${outputs}
    COMMAND ${name}_generator emit --library ${name} --out ${dir} ${request}
            --identity-file $<TARGET_FILE:fovea::compiler> --identity-file $<TARGET_FILE:fovea::dsl>
    DEPENDS ${name}_generator ${tuned}
    COMMENT "Generating attention kernels of ${name}"
    JOB_POOL fovea_emit
    VERBATIM)
  add_custom_target(${name}_emit DEPENDS ${outputs})
endfunction()

# The generator as a project of its own, configured and built for the machine that builds. What its sources include is
# known to that project alone, so it is asked in every build.
function(_fovea_emit_on_host name dir sources outputs request)
  find_program(FOVEA_HOST_CXX_COMPILER NAMES c++ g++ clang++ NO_CMAKE_FIND_ROOT_PATH
    DOC "C++ compiler of the machine that builds")
  if(NOT FOVEA_HOST_CXX_COMPILER)
    message(FATAL_ERROR "fovea_add_library(${name}): FOVEA_HOST_CXX_COMPILER is not set, and no c++, g++ or clang++ of the "
                        "machine that builds is on PATH")
  endif()
  if(NOT DEFINED FOVEA_HOST_PREFIX_PATH)
    set(FOVEA_HOST_PREFIX_PATH "${CMAKE_PREFIX_PATH}")
  endif()
  set(host "${dir}/host")
  set(settings "")
  foreach(pair
      CMAKE_CXX_COMPILER=FOVEA_HOST_CXX_COMPILER CMAKE_PREFIX_PATH=FOVEA_HOST_PREFIX_PATH
      CMAKE_MAKE_PROGRAM=CMAKE_MAKE_PROGRAM Halide_DIR=Halide_DIR fovea_DIR=FOVEA_HOST_PACKAGE_DIR
      FOVEA_LIBRARY=name FOVEA_LIBRARY_SOURCES=sources FOVEA_LIBRARY_DIR=dir FOVEA_LIBRARY_REQUEST=request
      FOVEA_LIBRARY_OUTPUTS=outputs)
    string(REGEX MATCH "^([^=]*)=(.*)$" pair "${pair}")
    if(DEFINED ${CMAKE_MATCH_2})
      string(APPEND settings "set(${CMAKE_MATCH_1} [==[${${CMAKE_MATCH_2}}]==] CACHE STRING \"\" FORCE)\n")
    endif()
  endforeach()
  file(CONFIGURE OUTPUT "${host}/settings.cmake" CONTENT "${settings}" @ONLY)
  # Flags and compilers in the environment are those of the other machine.
  set(clean_cmake ${CMAKE_COMMAND} -E env --unset=CC --unset=CXX --unset=CFLAGS --unset=CXXFLAGS --unset=LDFLAGS
    --unset=CMAKE_TOOLCHAIN_FILE ${CMAKE_COMMAND})
  add_custom_command(
    OUTPUT ${host}/configured
    COMMAND ${clean_cmake} -G ${CMAKE_GENERATOR} -S "${FOVEA_HOST_PROJECT_DIR}" -B ${host}/build
            -C ${host}/settings.cmake -DCMAKE_BUILD_TYPE=Release -DCMAKE_DISABLE_FIND_PACKAGE_Halide_Python=ON
    COMMAND ${CMAKE_COMMAND} -E touch ${host}/configured
    DEPENDS ${host}/settings.cmake "${FOVEA_HOST_PROJECT_DIR}/CMakeLists.txt"
    COMMENT "Configuring the generator of ${name}"
    VERBATIM)
  add_custom_target(${name}_emit
    COMMAND ${clean_cmake} --build ${host}/build --target ${name}_emit
    BYPRODUCTS ${outputs}
    DEPENDS ${host}/configured
    COMMENT "Generating attention kernels of ${name}"
    JOB_POOL fovea_emit
    VERBATIM)
endfunction()

function(fovea_emit_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "ARCHITECTURE;JOBS" "VARIANTS;TARGETS;DTYPES;HEAD_DIMS;PASSES;CACHES;TUNED")
  if(NOT CMAKE_CXX_COMPILER_LOADED)
    message(FATAL_ERROR "fovea_add_library(${name}): variants are written in C++; enable it: "
                        "project(… LANGUAGES CXX)")
  endif()
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "fovea_add_library(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}; "
                        "allowed are VARIANTS TARGETS DTYPES HEAD_DIMS PASSES CACHES TUNED JOBS")
  endif()
  if(arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "fovea_add_library(${name}): no value after ${arg_KEYWORDS_MISSING_VALUES}")
  endif()
  if(NOT arg_VARIANTS)
    message(FATAL_ERROR "fovea_add_library(${name}): VARIANTS needs at least one source or catalogue name")
  endif()
  if(NOT DEFINED arg_JOBS)
    set(arg_JOBS 0)
  endif()
  _fovea_architecture(architecture)
  # This build's programs are right for its own objects; for others the generator has defaults.
  set(request --jobs ${arg_JOBS})
  if(DEFINED arg_ARCHITECTURE AND NOT arg_ARCHITECTURE STREQUAL architecture)
    set(architecture ${arg_ARCHITECTURE})
  else()
    list(APPEND request --linker ${CMAKE_LINKER} --objcopy ${CMAKE_OBJCOPY})
  endif()
  list(APPEND request --architecture ${architecture})
  foreach(pair TARGETS:--target DTYPES:--dtype HEAD_DIMS:--head-dim PASSES:--pass CACHES:--cache)
    string(REPLACE ":" ";" pair "${pair}")
    list(GET pair 0 keyword)
    list(GET pair 1 flag)
    foreach(value IN LISTS arg_${keyword})
      list(APPEND request ${flag} ${value})
    endforeach()
  endforeach()

  _fovea_tuned_files(${name} "${arg_TUNED}" tuned)
  foreach(file IN LISTS tuned)
    list(APPEND request --tuned "${file}")
  endforeach()

  _fovea_variant_sources(${name} "${arg_VARIANTS}" sources)
  set(dir "${CMAKE_CURRENT_BINARY_DIR}/${name}.fovea")
  set(outputs
    "${dir}/${name}_kernels.o" "${dir}/${name}_registry.cpp" "${dir}/include/${name}.h" "${dir}/include/${name}.hpp"
    "${dir}/${name}.json")
  if(CMAKE_CROSSCOMPILING)
    _fovea_emit_on_host(${name} "${dir}" "${sources}" "${outputs}" "${request}")
  else()
    _fovea_emit_here(${name} "${dir}" "${sources}" "${outputs}" "${request}")
  endif()
  set_target_properties(${name}_emit PROPERTIES FOVEA_OUTPUT_DIR "${dir}" FOVEA_OUTPUTS "${outputs}")
endfunction()

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
  if("ARCHITECTURE" IN_LIST ARGN)
    message(FATAL_ERROR "fovea_add_library(${name}): ARCHITECTURE is for fovea_emit_library; a library is for the "
                        "architecture that the project is built for")
  endif()
  fovea_emit_library(${name} ${ARGN})
  get_target_property(dir ${name}_emit FOVEA_OUTPUT_DIR)
  get_target_property(outputs ${name}_emit FOVEA_OUTPUTS)
  _fovea_runtime_objects()
  add_library(${name} STATIC ${outputs} $<TARGET_OBJECTS:fovea_runtime_objects>)
  add_dependencies(${name} ${name}_emit)
  set_source_files_properties("${dir}/${name}_kernels.o" PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  target_compile_features(${name} PUBLIC cxx_std_17)
  target_include_directories(${name} PUBLIC
    "$<BUILD_INTERFACE:${dir}/include>" "$<BUILD_INTERFACE:${FOVEA_RUNTIME_INCLUDE_DIR}>" $<INSTALL_INTERFACE:include>)
  find_package(Threads REQUIRED)
  target_link_libraries(${name} PUBLIC Threads::Threads ${CMAKE_DL_LIBS})
  set_target_properties(${name} PROPERTIES
    POSITION_INDEPENDENT_CODE ON
    FOVEA_OUTPUT_DIR "${dir}"
    FOVEA_MANIFEST "${dir}/${name}.json")
endfunction()
