# Puts what libluthier.so needs beside it, so that a wheel runs where nothing is installed: the
# libraries it links with, those it loads when first needed (OpenBLAS, L-BFGS-B), and what these
# need. libc and its kin stay the system's. Without patchelf nothing is copied, and the package
# finds the system's libraries, as the command line does.
#   cmake -DLIBRARY=... -DTO=... -P bundle.cmake

find_program(PATCHELF patchelf)
if(NOT PATCHELF)
    message(STATUS "no patchelf: the package will use the system's libraries")
    return()
endif()

set(loaded_later)
foreach(name libopenblas.so.0 liblbfgsb.so.0)
    find_library(found_${name} ${name} PATHS /usr/lib/x86_64-linux-gnu /usr/lib/aarch64-linux-gnu)
    if(found_${name})
        file(REAL_PATH ${found_${name}} path)
        list(APPEND loaded_later ${path})
    else()
        message(WARNING "${name} is not here and will not be in the package")
    endif()
endforeach()

file(GET_RUNTIME_DEPENDENCIES
    LIBRARIES ${LIBRARY} ${loaded_later}
    RESOLVED_DEPENDENCIES_VAR needed
    UNRESOLVED_DEPENDENCIES_VAR missing
    PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|stdc\\+\\+|gcc_s)\\.so")
if(missing)
    message(WARNING "not found: ${missing}")
endif()

# Debian has the licences of each package in one place.
function(take_licence library)
    find_program(DPKG dpkg)
    if(NOT DPKG)
        return()
    endif()
    file(REAL_PATH ${library} library)
    string(REGEX REPLACE "^/usr/lib" "/lib" as_packed ${library}) # /lib leads to /usr/lib by now
    execute_process(COMMAND ${DPKG} -S ${library} ${as_packed} OUTPUT_VARIABLE owner ERROR_QUIET)
    string(REGEX REPLACE ":.*" "" owner "${owner}")
    if(owner AND EXISTS /usr/share/doc/${owner}/copyright)
        file(REAL_PATH /usr/share/doc/${owner}/copyright text)
        configure_file(${text} ${TO}/LICENSES/${owner}.txt COPYONLY)
    endif()
endfunction()

foreach(library ${loaded_later} ${needed})
    take_licence(${library})
    execute_process(COMMAND ${PATCHELF} --print-soname ${library}
        OUTPUT_VARIABLE soname OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    file(REAL_PATH ${library} library)
    configure_file(${library} ${TO}/${soname} COPYONLY)
    file(CHMOD ${TO}/${soname} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
    execute_process(COMMAND ${PATCHELF} --set-rpath $ORIGIN ${TO}/${soname} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
