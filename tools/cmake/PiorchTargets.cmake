# What every target of ours has in common, and the two shapes there are: a room
# (static library from the .cpp files of a top-level folder) and a program
# (tools/NAME/*.cpp).

add_library(piorch_flags INTERFACE)
target_compile_options(piorch_flags INTERFACE -Wall -Wextra -Wshadow -Wconversion
  -fstack-protector-strong $<$<BOOL:${PIORCH_WERROR}>:-Werror>)
target_include_directories(piorch_flags INTERFACE ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_definitions(piorch_flags INTERFACE PIORCH_VERSION="${PROJECT_VERSION}"
  $<$<CONFIG:Release>:_FORTIFY_SOURCE=2>)

add_library(piorch_sanitize INTERFACE)
if(PIORCH_SANITIZE)
  target_compile_options(piorch_sanitize INTERFACE -fsanitize=${PIORCH_SANITIZE}
    -fno-omit-frame-pointer -fno-sanitize-recover=all -U_FORTIFY_SOURCE)
  target_link_options(piorch_sanitize INTERFACE -fsanitize=${PIORCH_SANITIZE})
endif()

# Asio and Beast as we use them: no deprecated spellings, and Asio's own code in one place (ipc/asio.cpp),
# which saves a second with each file that includes it.
add_library(piorch_asio INTERFACE)
target_compile_definitions(piorch_asio INTERFACE BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_SEPARATE_COMPILATION)
if(PIORCH_SANITIZE STREQUAL "thread")
  target_compile_definitions(piorch_asio INTERFACE BOOST_ASIO_DISABLE_FENCED_BLOCK)
endif()

# piorch_precompile(TARGET header...): two fifths of the sanitizers' build. GCC gains a tenth, and its builds
# are where a missing #include shows.
function(piorch_precompile target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_precompile_headers(${target} PRIVATE ${ARGN})
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp") # for ccache
  endif()
endfunction()

# piorch_room(NAME [SUBDIRS dir...] [LINKS target...])
function(piorch_room name)
  cmake_parse_arguments(arg "" "" "SUBDIRS;LINKS" ${ARGN})
  set(globs ${name}/*.cpp)
  foreach(dir IN LISTS arg_SUBDIRS)
    list(APPEND globs ${name}/${dir}/*.cpp)
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${globs})
  list(LENGTH sources count)
  if(count EQUAL 0)
    set(kind INTERFACE)
    add_library(piorch_${name} INTERFACE)
  else()
    set(kind PUBLIC)
    add_library(piorch_${name} STATIC ${sources})
    target_link_libraries(piorch_${name} PRIVATE piorch_flags)
    piorch_precompile(piorch_${name} <filesystem> <functional> <map> <nlohmann/json.hpp> <string> <vector>)
  endif()
  find_package(Threads REQUIRED)
  target_include_directories(piorch_${name} ${kind} ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(piorch_${name} ${kind} ${arg_LINKS} piorch_sanitize Threads::Threads)
  if(name STREQUAL "actors")
    target_compile_definitions(piorch_actors ${kind} CAF_ENABLE_TYPE_ID_CHECKS)
  endif()
endfunction()

# The C++ runtime linked in: loading it is half of what starting a small program
# costs (0.7 ms of 1.6). Not where CAF is, which brings the shared one anyway.
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_LINK_OPTIONS -static-libstdc++ -static-libgcc)
check_cxx_source_compiles("#include <string>
int main(int argc, char** argv) { return static_cast<int>(std::string(argv[argc - 1]).size()); }"
  PIORCH_STATIC_RUNTIME)
unset(CMAKE_REQUIRED_LINK_OPTIONS)

# piorch_program(NAME [QUICK_START] DESTINATION dir LINKS target...): tools/NAME/*.cpp
function(piorch_program name)
  cmake_parse_arguments(arg "QUICK_START" "DESTINATION" "LINKS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS tools/${name}/*.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE piorch_flags ${arg_LINKS})
  if(arg_QUICK_START AND PIORCH_STATIC_RUNTIME AND NOT PIORCH_SANITIZE)
    target_link_options(${name} PRIVATE -static-libstdc++ -static-libgcc)
  endif()
  if(arg_DESTINATION MATCHES "libexec")
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PIORCH_LIBEXEC_OUT})
  endif()
  install(TARGETS ${name} RUNTIME DESTINATION ${arg_DESTINATION})
  add_dependencies(programs ${name})
endfunction()

# The completion scripts: built into the program, which prints them, and installed where
# the shells of a distribution look.
function(piorch_completions program)
  set(dir ${CMAKE_CURRENT_SOURCE_DIR}/tools/completions)
  foreach(shell bash zsh fish)
    file(READ ${dir}/piorch.${shell} PIORCH_COMPLETION_${shell})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${dir}/piorch.${shell})
  endforeach()
  configure_file(${dir}/completion_scripts.cpp.in completion_scripts.cpp @ONLY)
  target_sources(${program} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/completion_scripts.cpp)
  install(FILES ${dir}/piorch.bash DESTINATION share/bash-completion/completions RENAME piorch)
  install(FILES ${dir}/piorch.zsh DESTINATION share/zsh/vendor-completions RENAME _piorch)
  install(FILES ${dir}/piorch.fish DESTINATION share/fish/vendor_completions.d)
endfunction()

function(piorch_programs)
  add_custom_target(programs) # everything that is installed, and no test
  set(libexec libexec/piorch)
  piorch_program(piorch QUICK_START DESTINATION bin LINKS piorch_sandbox piorch_orchestration cxxopts::cxxopts)
  piorch_completions(piorch)
  piorch_program(piorch-pi QUICK_START DESTINATION bin LINKS piorch_sandbox piorch_orchestration)
  piorch_program(piorch-serve DESTINATION ${libexec} LINKS piorch_actors)
  piorch_program(piorch-broker DESTINATION ${libexec} LINKS piorch_actors)

  # Runs inside sandboxes, like piorch-init: static, nothing but system calls.
  piorch_program(piorch-connect DESTINATION ${libexec})
  if(TARGET piorch-connect)
    target_link_options(piorch-connect PRIVATE -static)
  endif()

  # PID 1 of every sandbox: static, so that it needs nothing from the sandbox's
  # own file system, and never sanitized (ASan cannot be linked statically).
  file(GLOB init_sources CONFIGURE_DEPENDS tools/piorch-init/*.cpp sandbox/guard/*.cpp)
  if(init_sources)
    add_executable(piorch-init ${init_sources})
    target_link_libraries(piorch-init PRIVATE piorch_flags)
    target_compile_options(piorch-init PRIVATE -fno-exceptions -fno-rtti -fstack-clash-protection)
    target_link_options(piorch-init PRIVATE -static)
    set_target_properties(piorch-init PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PIORCH_LIBEXEC_OUT})
    install(TARGETS piorch-init RUNTIME DESTINATION ${libexec})
    add_dependencies(programs piorch-init)
  endif()

  install(FILES docs/man/piorch.1 docs/man/piorch-exec.1 DESTINATION share/man/man1)
  install(FILES docs/man/piorch-config.5 DESTINATION share/man/man5)

  # The Pi package. It looks for the program in ../../../bin of where it lies.
  install(DIRECTORY tools/pi-extension/src DESTINATION share/piorch/pi-extension)
  install(FILES tools/pi-extension/package.json tools/pi-extension/README.md
    DESTINATION share/piorch/pi-extension)
endfunction()
