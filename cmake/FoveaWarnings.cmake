# SPDX-License-Identifier: Apache-2.0
# Warnings for our own code only: never on by themselves in a project that builds fovea as a part.
function(fovea_warnings target)
  if(NOT PROJECT_IS_TOP_LEVEL)
    return()
  endif()
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion>
    # Part of -Wconversion for Clang, apart from it for GCC: one rule for both.
    $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-sign-conversion>)
  if(FOVEA_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
  endif()
endfunction()
