# SPDX-License-Identifier: Apache-2.0
# Debian's cross compiler for 64-bit Arm (package g++-aarch64-linux-gnu); programs that a build or a test starts run under
# qemu-aarch64 (package qemu-user) with the cross compiler's own C library.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
