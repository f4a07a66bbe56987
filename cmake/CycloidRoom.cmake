# A room is one folder under cycloid/, one target, one namespace.
#
#   name.h, name.cpp       one concept
#   name_isa.cpp           compiled once per instruction set, see cycloid_instruction_set_objects
#   name_test.cpp          its unit test, beside it
#   name_test_isa.cpp      the part of a unit test that is compiled once per instruction set

# Compiles `SOURCES` once per instruction set and appends the objects to `target`. Each copy defines
# its entry points in namespace cycloid::isa::<set>; every other symbol of the merged object is made
# local, because a template instantiated in two copies is one weak symbol to the linker, and the
# portable program could get the wide one.
function(cycloid_instruction_set_objects target)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  foreach(set IN LISTS CYCLOID_SETS)
    set(objects ${target}_isa_${set})
    add_library(${objects} OBJECT EXCLUDE_FROM_ALL ${ARG_SOURCES})
    target_link_libraries(${objects} PRIVATE cycloid_flags ${ARG_LINK})
    target_include_directories(${objects} PRIVATE "${PROJECT_SOURCE_DIR}")
    target_compile_definitions(${objects} PRIVATE CYCLOID_ISA=${set} ${CYCLOID_DEFINITIONS_${set}})
    target_compile_options(${objects} PRIVATE ${CYCLOID_FLAGS_${set}} -fno-gnu-unique)
    string(LENGTH ${set} length)
    set(merged "${CMAKE_CURRENT_BINARY_DIR}/${objects}.o")
    add_custom_command(OUTPUT "${merged}"
      COMMAND ${CMAKE_LINKER} -r --force-group-allocation -o "${merged}.all"
              "$<TARGET_OBJECTS:${objects}>"
      COMMAND ${CMAKE_OBJCOPY} --wildcard "--keep-global-symbol=_ZN7cycloid3isa${length}${set}*"
              "${merged}.all" "${merged}"
      DEPENDS ${objects} "$<TARGET_OBJECTS:${objects}>"
      COMMAND_EXPAND_LISTS VERBATIM)
    target_sources(${target} PRIVATE "${merged}")
    set_source_files_properties("${merged}" PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
    set_property(GLOBAL APPEND PROPERTY CYCLOID_ISA_OBJECTS "${merged}")
  endforeach()
endfunction()

# What most units of a target include from elsewhere, read by the compiler once. Headers of the room
# itself are not among it: whoever changes one builds the units that include it, not all.
function(cycloid_precompile target)
  target_precompile_headers(${target} PRIVATE ${ARGN})
  target_compile_options(${target} PRIVATE "$<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>")
endfunction()

# The compiler takes `count` units of the target at a time.
function(cycloid_compile_together target count)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${count})
  # A unit that another one includes is taken for a header, whose types must have linkage.
  target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
endfunction()

# It takes units of a folder and of those below it together in groups, each "a,b,c", and those in no
# group alone: where names in anonymous namespaces do not all differ.
function(cycloid_group target folder)
  cycloid_compile_together(${target} 8)
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  file(GLOB_RECURSE all "${folder}/*.cpp")
  foreach(group IN LISTS ARGN)
    string(REPLACE "," "|" names "${group}")
    set(units ${all})
    list(FILTER units INCLUDE REGEX "/(${names})\\.cpp$")
    string(REGEX MATCH "^[^,]+" name "${group}")
    set_source_files_properties(${units} PROPERTIES UNITY_GROUP ${name})
  endforeach()
endfunction()

# Where a sanitizer watches the other rooms: those that are only linked, in the form that compiles
# fastest.
set(CYCLOID_PLAIN_ROOMS "" CACHE STRING "Rooms that are built without sanitizers and optimisation")

# Every program of tests; `make test` builds them, `make build` does not.
add_custom_target(all_tests)

# PRECOMPILE: of the tests;  PRECOMPILE_ROOM: of the room itself, its *_isa.cpp excepted.
# TOGETHER: the compiler takes some units of the room at a time, half the work where most of it is
# reading headers. Names in their anonymous namespaces must then differ.
# TESTS_TOGETHER: likewise its tests, where most of the work is one set of templates in every unit.
# Each test then has a namespace of its own, cycloid::<file>.
function(cycloid_room room)
  cmake_parse_arguments(ARG "TOGETHER;TESTS_TOGETHER" ""
    "DEPENDS;LINK;PRECOMPILE;PRECOMPILE_ROOM" ${ARGN})
  set(folder "${PROJECT_SOURCE_DIR}/cycloid/${room}")
  file(GLOB_RECURSE all CONFIGURE_DEPENDS "${folder}/*.cpp")
  set(tests ${all})
  set(isa_tests ${all})
  set(isa ${all})
  set(sources ${all})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER isa_tests INCLUDE REGEX "_test_isa\\.cpp$")
  list(FILTER isa INCLUDE REGEX "_isa\\.cpp$")
  list(FILTER isa EXCLUDE REGEX "_test_isa\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "_(test|isa)\\.cpp$")

  list(TRANSFORM ARG_DEPENDS PREPEND cycloid_ OUTPUT_VARIABLE depends)
  set(target cycloid_${room})
  if(sources OR isa)
    add_library(${target} STATIC ${sources})
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
    target_link_libraries(${target} PRIVATE "$<BUILD_INTERFACE:cycloid_flags>")
    set(visibility PUBLIC)
  else()
    add_library(${target} INTERFACE)
    set(visibility INTERFACE)
  endif()
  add_library(cycloid::${room} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${room})
  target_include_directories(${target} ${visibility}
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>" "$<INSTALL_INTERFACE:include>")
  target_compile_features(${target} ${visibility} cxx_std_20)
  # A vector wider than the baseline's registers is passed in memory: no interface depends on it.
  target_compile_options(${target} ${visibility} -Wno-psabi)
  target_link_libraries(${target} ${visibility} ${depends} ${ARG_LINK} Threads::Threads)
  if(isa)
    cycloid_instruction_set_objects(${target} SOURCES ${isa} LINK ${depends})
  endif()
  if(room IN_LIST CYCLOID_PLAIN_ROOMS)
    foreach(part IN ITEMS ${target} ${target}_isa_portable)
      if(TARGET ${part})
        target_compile_options(${part} PRIVATE -fno-sanitize=all -O0 -g0)
      endif()
    endforeach()
  endif()
  if(ARG_TOGETHER)
    cycloid_compile_together(${target} 8)
  endif()
  if(ARG_PRECOMPILE_ROOM)
    list(TRANSFORM ARG_PRECOMPILE_ROOM PREPEND "${PROJECT_SOURCE_DIR}/")
    cycloid_precompile(${target} ${ARG_PRECOMPILE_ROOM})
  endif()

  if(CYCLOID_TESTS AND tests)
    add_executable(test_${room} EXCLUDE_FROM_ALL ${tests}
                   "${PROJECT_SOURCE_DIR}/tests/support/main.cpp")
    add_dependencies(all_tests test_${room})
    target_link_libraries(test_${room} PRIVATE cycloid_flags ${target} cycloid_doctest)
    # What is tested is optimised as it ships; what the tests themselves instantiate need not be.
    target_compile_options(test_${room} PRIVATE -O0)
    target_include_directories(test_${room} PRIVATE "${PROJECT_SOURCE_DIR}")
    if(EXISTS "${folder}/operators.h")
      target_compile_definitions(test_${room} PRIVATE
        CYCLOID_OPERATORS_HEADER="cycloid/${room}/operators.h")
    endif()
    if(ARG_TESTS_TOGETHER)
      cycloid_compile_together(test_${room} 12)
    endif()
    if(ARG_PRECOMPILE)
      list(TRANSFORM ARG_PRECOMPILE PREPEND "${PROJECT_SOURCE_DIR}/")
      cycloid_precompile(test_${room} <doctest/doctest.h> ${ARG_PRECOMPILE})
    endif()
    if(isa_tests)
      cycloid_instruction_set_objects(test_${room} SOURCES ${isa_tests} LINK ${target})
    endif()
    add_test(NAME ${room} COMMAND test_${room})
    set_tests_properties(${room} PROPERTIES
      FAIL_REGULAR_EXPRESSION "register of operators was not judged")
  endif()
endfunction()
