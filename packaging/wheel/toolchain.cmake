# For CMake: compile for WHEEL_ARCH and an old glibc, with the libraries that packaging/wheel/libraries has built
# in WHEEL_ROOT, and none of the system's.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR $ENV{WHEEL_ARCH})
foreach(tool AR RANLIB C_COMPILER CXX_COMPILER)
    string(REGEX REPLACE "_COMPILER" "" name ${tool})
    string(TOLOWER ${name} name)
    set(CMAKE_${tool} $ENV{WHEEL_ROOT}/bin/${name})
endforeach()

set(CMAKE_FIND_ROOT_PATH $ENV{WHEEL_ROOT}/prefix)
foreach(kind LIBRARY INCLUDE PACKAGE)
    set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()

# No path of this machine may be in a wheel, nor names that only a debugger reads.
set(CMAKE_C_FLAGS_INIT "-include ${CMAKE_CURRENT_LIST_DIR}/old_glibc.h -ffile-prefix-map=$ENV{WHEEL_SOURCE}=.")
foreach(kind EXE SHARED)
    set(CMAKE_${kind}_LINKER_FLAGS_INIT "-s $ENV{WHEEL_RUNTIME}")
endforeach()
