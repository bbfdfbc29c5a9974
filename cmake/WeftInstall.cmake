# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` and cpack take: the program and its module for Parquet, its jobs with the sample corpus, the batch
# scripts, the pages, and what the program wrote about itself (launch/CMakeLists.txt): the manual page and the completions.
# docs/installation.md shows the commands.

set(share ${CMAKE_BINARY_DIR}/share)

# A library outside the system's folders (NAME_ROOT) is found by the installed program too, and so are its modules, wherever
# both are moved together.
set(modules ${CMAKE_INSTALL_LIBDIR}/weft)
file(RELATIVE_PATH modules_from_weft ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR}/weft)
set_target_properties(weft PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON INSTALL_RPATH "$ORIGIN/${modules_from_weft}")
install(TARGETS weft RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(WEFT_PARQUET_FOUND)
  install(TARGETS weft_parquet LIBRARY DESTINATION ${modules})
endif()
install(DIRECTORY configs DESTINATION ${CMAKE_INSTALL_DATADIR}/weft FILES_MATCHING PATTERN "*.yaml" PATTERN "*.gz")
install(PROGRAMS launch/follow_metrics.py DESTINATION ${CMAKE_INSTALL_DATADIR}/weft/launch)
install(FILES python/weft.py python/weft_lm_eval.py DESTINATION ${CMAKE_INSTALL_DATADIR}/weft/python)
install(DIRECTORY launch/slurm DESTINATION ${CMAKE_INSTALL_DATADIR}/weft/launch)
install(FILES README.md CHANGELOG.md LICENSE NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY LICENSES DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md" PATTERN "*.png")
install(FILES ${share}/man/man1/weft.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${share}/bash-completion/completions/weft DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${share}/zsh/site-functions/_weft DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)

# weft_package_of(RESULT FILE): the Debian package that brought the file, or nothing.
function(weft_package_of result file)
  set(${result} "" PARENT_SCOPE)
  find_program(dpkg dpkg)
  file(REAL_PATH "${file}" real)
  if(dpkg AND EXISTS "${file}")
    execute_process(COMMAND ${dpkg} -S ${real} OUTPUT_VARIABLE found ERROR_QUIET)
    if(found MATCHES "^([^:, ]+)")
      set(${result} ${CMAKE_MATCH_1} PARENT_SCOPE)
    endif()
  endif()
endfunction()

# The package for Debian: dpkg-shlibdeps finds the libraries that the program is linked to; mpirun is a program. It needs to
# see Arrow too, which no package of Debian may have brought: then the package does not depend on it.
find_program(dpkg_shlibdeps dpkg-shlibdeps)
set(CPACK_GENERATOR TGZ)
if(dpkg_shlibdeps)
  list(APPEND CPACK_GENERATOR DEB)
endif()
weft_package_of(CPACK_DEBIAN_PACKAGE_DEPENDS "${MPIEXEC_EXECUTABLE}")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
if(WEFT_PARQUET_FOUND)
  get_filename_component(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${parquet_library} DIRECTORY)
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_PACKAGE_CONTACT "the weft authors")
set(CPACK_PACKAGE_VENDOR "the weft authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
string(TOLOWER "weft-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}" CPACK_PACKAGE_FILE_NAME)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
include(CPack)
