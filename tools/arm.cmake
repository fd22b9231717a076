# For CMake: compile for ARM with Debian's compiler (gcc-aarch64-linux-gnu) and the libraries that tools/arm_tree has
# laid into build/arm-tree, and run what was built by qemu-user. See tests/long/arm.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)

set(arm_tree ${CMAKE_CURRENT_LIST_DIR}/../build/arm-tree)
cmake_path(NORMAL_PATH arm_tree)
set(CMAKE_SYSROOT ${arm_tree})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind LIBRARY INCLUDE PACKAGE)
    set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(ENV{PKG_CONFIG_LIBDIR} ${arm_tree}/usr/lib/aarch64-linux-gnu/pkgconfig:${arm_tree}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${arm_tree})

set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64;-L;${arm_tree})
