# libseccomp: Seccomp::seccomp.
find_path(SECCOMP_INCLUDE_DIR seccomp.h)
find_library(SECCOMP_LIBRARY seccomp)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Seccomp REQUIRED_VARS SECCOMP_LIBRARY SECCOMP_INCLUDE_DIR)
if(SECCOMP_FOUND AND NOT TARGET Seccomp::seccomp)
  add_library(Seccomp::seccomp UNKNOWN IMPORTED)
  set_target_properties(Seccomp::seccomp PROPERTIES
    IMPORTED_LOCATION "${SECCOMP_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${SECCOMP_INCLUDE_DIR}")
endif()
mark_as_advanced(SECCOMP_INCLUDE_DIR SECCOMP_LIBRARY)
