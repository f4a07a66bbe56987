# cmake -DBUILD= -DSOURCE= -DWORK= -DGENERATOR= -DCOMPILER= -P run.cmake
#
# Installs the build, moves the installation to another place, builds the project in SOURCE against
# it and runs the program.

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE "${WORK}")
run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${WORK}/first")
file(RENAME "${WORK}/first" "${WORK}/moved")

run("${CMAKE_COMMAND}" -S "${SOURCE}" -B "${WORK}/user" -G "${GENERATOR}"
    "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_PREFIX_PATH=${WORK}/moved"
    -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF)
file(STRINGS "${WORK}/user/CMakeCache.txt" found REGEX "^cycloid_DIR:")
if(NOT found MATCHES "${WORK}/moved/")
  message(FATAL_ERROR "another cycloid was found: ${found}")
endif()
run("${CMAKE_COMMAND}" --build "${WORK}/user")
run("${WORK}/user/user")
