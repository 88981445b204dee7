# `cpack --config build/CPackConfig.cmake` (or tools/package) makes a Debian package of what
# is installed. tools/ci/package installs and tries it in a clean root.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME piorch)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_PACKAGE_CONTACT "piorch <piorch@example.org>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_DEPENDS bubblewrap)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON) # the libraries it is linked with
include(CPack)
