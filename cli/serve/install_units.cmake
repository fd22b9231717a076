# Installs the units of systemd: luthier.service for one model, luthier@.service for one of each name. Run by the
# installation with `bindir` and `generated` set, for only then is it known where the program will be.
get_filename_component(bindir "${bindir}" ABSOLUTE BASE_DIR "${CMAKE_INSTALL_PREFIX}")

function(install_unit unit name what)
    configure_file("${CMAKE_CURRENT_LIST_DIR}/luthier.service.in" "${generated}/${unit}" @ONLY)
    file(INSTALL "${generated}/${unit}" DESTINATION "${CMAKE_INSTALL_PREFIX}/lib/systemd/system")
endfunction()

install_unit(luthier.service model "one model, luthier.service")
install_unit(luthier@.service %i "a model for each name, luthier@NAME.service")
