# Compiler flags that every target shares, and the instruction sets of the batch core.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

# The cache takes units with precompiled headers only when told that macros and times in them are no
# matter: of ours they are not. It goes by the contents of files, comments included (CCACHE_DEPEND):
# a precompiled header of the same text but for a comment is another one to GCC. Paths within the
# project it sees relative to the tree of the build, so that build/ serves another tree beside it.
find_program(CYCLOID_CCACHE ccache)
if(CYCLOID_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_DEPEND=1
      CCACHE_SLOPPINESS=pch_defines,time_macros
      "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" "${CYCLOID_CCACHE}")
endif()

find_package(Threads REQUIRED)

# Where no time is spent that anyone would notice: programs around the core, rare forms of laws.
# Newer GCC do not take a precompiled header of -O3 there, and read its text instead.
set(CYCLOID_OFF_THE_HOT_PATH "$<$<CONFIG:Release>:-O1>" -Wno-error=invalid-pch)

# Arithmetic: contraction to fused multiply-add is allowed, reordering is not; NaN masks stay.
add_library(cycloid_flags INTERFACE)
target_compile_options(cycloid_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Werror -Wno-psabi
  -fno-math-errno -fno-trapping-math -ffp-contract=fast)

# GCC spends a twelfth of its time collecting garbage at its default heap of 128 MiB. Where there
# are 4 GB to every core it collects above 1 GiB only.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  cmake_host_system_information(RESULT megabytes QUERY TOTAL_PHYSICAL_MEMORY)
  cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
  math(EXPR megabytes_per_core "${megabytes} / ${cores}")
  if(megabytes_per_core GREATER 4000)
    target_compile_options(cycloid_flags INTERFACE --param=ggc-min-heapsize=1048576)
  endif()
endif()

# The sets the batch core is compiled for, narrowest first. `portable` is the compiler's baseline.
set(CYCLOID_INSTRUCTION_SETS "all" CACHE STRING
    "Of the batch core: all, widest (that this machine runs), or a list of portable, v3, v4")
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(CYCLOID_SETS portable)
elseif(CYCLOID_INSTRUCTION_SETS STREQUAL "all")
  set(CYCLOID_SETS portable v3 v4)
elseif(CYCLOID_INSTRUCTION_SETS STREQUAL "widest")
  if(NOT CYCLOID_WIDEST_SET)
    try_run(status compiled "${CMAKE_CURRENT_BINARY_DIR}/widest_set"
      "${CMAKE_CURRENT_LIST_DIR}/widest_set.cpp"
      CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${PROJECT_SOURCE_DIR}" CXX_STANDARD 20
      RUN_OUTPUT_VARIABLE widest)
    if(NOT compiled OR NOT status EQUAL 0)
      set(widest portable)
    endif()
    string(STRIP "${widest}" widest)
    set(CYCLOID_WIDEST_SET "${widest}" CACHE INTERNAL "The widest set that this machine runs")
  endif()
  set(CYCLOID_SETS ${CYCLOID_WIDEST_SET})
else()
  set(CYCLOID_SETS ${CYCLOID_INSTRUCTION_SETS})
endif()
# Where there are wider sets, few machines fall back on `portable`: it computes one environment at a
# time there (math/batch_lanes.h), and is compiled in three quarters of the time.
list(LENGTH CYCLOID_SETS set_count)
set(CYCLOID_FLAGS_portable "")
if(set_count GREATER 1)
  set(CYCLOID_FLAGS_portable ${CYCLOID_OFF_THE_HOT_PATH})
  set(CYCLOID_DEFINITIONS_portable CYCLOID_IS_FALLBACK=1)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(CYCLOID_FLAGS_portable "$<$<CONFIG:Release>:-O2>")
endif()
set(CYCLOID_FLAGS_v3 -march=x86-64-v3)
set(CYCLOID_FLAGS_v4 -march=x86-64-v4 -mprefer-vector-width=512)

# Which sets there are is known to those alone who choose among them, by a header: with other sets
# only these files are compiled again.
list(GET CYCLOID_SETS 0 CYCLOID_NARROWEST_SET)
set(CYCLOID_SET_LINES "")
foreach(set IN LISTS CYCLOID_SETS)
  if(NOT DEFINED CYCLOID_FLAGS_${set})
    message(FATAL_ERROR "CYCLOID_INSTRUCTION_SETS: \"${set}\" is no instruction set; give all, \
widest, or a list of portable, v3 and v4")
  endif()
  string(TOUPPER ${set} upper)
  string(APPEND CYCLOID_SET_LINES "#define CYCLOID_HAS_${upper} 1\n")
endforeach()
configure_file("${CMAKE_CURRENT_LIST_DIR}/compiled_sets.h.in"
  "${PROJECT_BINARY_DIR}/generated/cycloid/base/compiled_sets.h" @ONLY)
target_include_directories(cycloid_flags INTERFACE "${PROJECT_BINARY_DIR}/generated")
