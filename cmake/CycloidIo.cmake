# What room io needs beyond the other rooms: MuJoCo's headers, and where its library was found. The
# library itself is opened when the first model is loaded (cycloid/io/mujoco_library.h).
target_link_libraries(cycloid_io PRIVATE "$<BUILD_INTERFACE:MujocoCore::headers>")
set_source_files_properties("${PROJECT_SOURCE_DIR}/cycloid/io/mujoco_library.cpp" PROPERTIES
  COMPILE_DEFINITIONS "CYCLOID_MUJOCO_BUILT_WITH=\"${MujocoCore_LIBRARY}\"")
if(TARGET test_io)
  target_link_libraries(test_io PRIVATE MujocoCore::headers)
  target_compile_definitions(test_io PRIVATE
    CYCLOID_MUJOCO_LIBRARY_FOR_TESTS="${MujocoCore_LIBRARY}")
endif()
