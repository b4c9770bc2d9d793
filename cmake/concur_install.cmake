# SPDX-License-Identifier: Apache-2.0
# Contents of `cmake --install` and of the Debian package. scripts/package makes the package.
include(GNUInstallDirs)
# Programs are installed as they are built: a build of the programs alone can be installed.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
set(programs concur concur-annotate concur-fetch concur-coordinator concur-worker concur-qa)
install(TARGETS ${programs} RUNTIME)
# Worker that pools give to nodes and pods: where coordinator/provision/provider.h has
# kStaticWorker. It is built where there are static libraries (scripts/package).
if(TARGET concur-worker-static)
  install(TARGETS concur-worker-static RUNTIME DESTINATION lib/concur OPTIONAL)
endif()

# Man pages and completion, from the commands that the programs parse. concur-fetch is described by
# the page of the command that runs it; concur-annotate has the page of its command,
# concur-annotate(1).
set(help ${CMAKE_BINARY_DIR}/share)
set(doc ${CMAKE_BINARY_DIR}/doc)
set(write_help)
foreach(program concur concur-coordinator concur-worker concur-qa)
  list(APPEND write_help COMMAND ${program} --write-help ${help})
endforeach()
# JSON Schemas, from what the readers of YAML read.
set(write_schemas)
foreach(kind sweep approach benchmark pool coordinator-options worker-options data-source)
  list(APPEND write_schemas COMMAND concur sweep schema ${kind} --out ${help}/concur/schema/${kind}.json)
endforeach()
add_custom_command(
  OUTPUT ${help}/man/man1/concur.1.gz
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${help} ${doc}
  ${write_help}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${help}/concur/schema
  ${write_schemas}
  COMMAND sh -c "gzip -9n '${help}'/man/man1/*.1"
  COMMAND ${CMAKE_COMMAND} -E create_symlink concur-data.1.gz ${help}/man/man1/concur-fetch.1.gz
  COMMAND ${CMAKE_COMMAND} -E make_directory ${doc}
  COMMAND ${CMAKE_SOURCE_DIR}/scripts/third-party-notices ${doc}/third-party-notices
  COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/CHANGELOG.md ${doc}/changelog
  COMMAND gzip -9n ${doc}/third-party-notices ${doc}/changelog
  DEPENDS ${programs} ${CMAKE_SOURCE_DIR}/CHANGELOG.md ${CMAKE_SOURCE_DIR}/THIRD_PARTY_NOTICES.md
  VERBATIM)
add_custom_target(concur_package DEPENDS ${help}/man/man1/concur.1.gz)
add_dependencies(concur_package ${programs})
install(DIRECTORY ${help}/ DESTINATION ${CMAKE_INSTALL_DATADIR})

set(packaging ${CMAKE_SOURCE_DIR}/cmake/packaging)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/configs DESTINATION ${CMAKE_INSTALL_DATADIR}/concur
        PATTERN providers EXCLUDE)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/configs/providers
        DESTINATION ${CMAKE_INSTALL_DATADIR}/concur/configs
        FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
                         WORLD_EXECUTE)
install(FILES ${packaging}/debian/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${doc}/ DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${packaging}/systemd/ DESTINATION lib/systemd/system FILES_MATCHING
        PATTERN "*.service")
install(FILES ${packaging}/etc/coordinator.yaml ${packaging}/etc/worker.yaml
        DESTINATION /etc/concur)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME concur)
set(CPACK_PACKAGE_VENDOR "The Concur developers")
set(CPACK_PACKAGE_CONTACT "The Concur developers <concur@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "distributed experiments on benchmarks and their concurrence")
set(CPACK_PACKAGE_DESCRIPTION
    "Runs modeling approaches on benchmarks across workers, keeps every result, and measures how
similarly the benchmarks rank the approaches. Holds the coordinator and the worker as systemd
services, the command-line client, native question-answering approaches, and the configurations of
published studies.")
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_SET_DESTDIR ON)  # for what lies in /etc
set(CPACK_STRIP_FILES ON)
set(CPACK_OUTPUT_FILE_PREFIX ${CMAKE_BINARY_DIR}/packages)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "adduser, ca-certificates")
# Packages that `concur demo` and `concur data build` make benchmarks from.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "bible-kjv, wamerican, wordnet-base")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3-concur")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
    ${packaging}/debian/conffiles ${packaging}/debian/postinst ${packaging}/debian/prerm
    ${packaging}/debian/postrm)
include(CPack)
