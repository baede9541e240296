# SPDX-License-Identifier: Apache-2.0
# The sources of the runtime as absolute paths in FOVEA_RUNTIME_SOURCES. They are compiled into every generated library and
# into the runtime's own tests; their include directory is runtime/include. Nothing in them throws or uses type
# information: FOVEA_RUNTIME_COMPILE_OPTIONS switches both off, and with that a C program needs no C++ library to link them.
set(FOVEA_RUNTIME_SOURCES)
foreach(source IN ITEMS
    append arguments buffers check_append check_cache check_call check_lengths check_merge check_parameters check_ragged
    check_tensors chunks cpu_detect cpu_detect_arm64 cpu_detect_x86 cpu_family decode entry explain fields layout merge merge_row message parallel
    preference prefill prepare run_call scratch selection sequences targets threads views work_item workers workspace
    gpu/cuda gpu/device gpu/device_append gpu/device_cache gpu/device_call gpu/device_decode gpu/device_tensors gpu/device_work gpu/kernel_hooks gpu/opencl)
  list(APPEND FOVEA_RUNTIME_SOURCES "${CMAKE_CURRENT_LIST_DIR}/src/${source}.cpp")
endforeach()
set(FOVEA_RUNTIME_COMPILE_OPTIONS -fno-exceptions -fno-rtti)
