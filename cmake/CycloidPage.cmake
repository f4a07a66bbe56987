# The style sheet of room page is compiled into it.
set(style "${PROJECT_SOURCE_DIR}/cycloid/page/page.css")
file(READ "${style}" PAGE_CSS)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${style}")
configure_file("${PROJECT_SOURCE_DIR}/cycloid/page/style.cpp.in"
  "${PROJECT_BINARY_DIR}/page_style.cpp" @ONLY)
target_sources(cycloid_page PRIVATE "${PROJECT_BINARY_DIR}/page_style.cpp")
target_compile_options(cycloid_page PRIVATE ${CYCLOID_OFF_THE_HOT_PATH})
