# `cmake --install build/release --prefix DIR`: the library, its headers as lamella/<folder>/<file>.h, the command
# line, and the package that find_package(lamella) finds. The target is lamella::lamella.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# The folders whose headers a user may include.
set(PUBLIC_FOLDERS base quant ir ops autodiff passes frontends models kernels backends runtime check text lm)
# And those inside of them whose headers are the library's own.
set(PRIVATE_FOLDERS text/tokenizer_json)
set(EXCLUDED)
foreach(folder ${PRIVATE_FOLDERS})
  list(APPEND EXCLUDED REGEX "/${folder}$" EXCLUDE)
endforeach()
foreach(folder ${PUBLIC_FOLDERS})
  if(IS_DIRECTORY ${CMAKE_SOURCE_DIR}/src/${folder})
    install(DIRECTORY src/${folder}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lamella/${folder}
            FILES_MATCHING PATTERN *.h ${EXCLUDED})
  endif()
endforeach()

install(TARGETS lamella EXPORT lamella DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET lamella_cli)
  install(TARGETS lamella_cli DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

set(PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/lamella)
install(EXPORT lamella NAMESPACE lamella:: FILE lamellaTargets.cmake DESTINATION ${PACKAGE_DIR})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/lamellaConfig.cmake.in
  ${CMAKE_BINARY_DIR}/lamellaConfig.cmake INSTALL_DESTINATION ${PACKAGE_DIR})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/lamellaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/lamellaConfig.cmake ${CMAKE_BINARY_DIR}/lamellaConfigVersion.cmake
        DESTINATION ${PACKAGE_DIR})
