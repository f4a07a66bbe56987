# Installation: the rooms' libraries and headers, and the package that find_package(cycloid) reads.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/cycloid")

# The rooms that cycloid::core is made of: those that need no library beyond the compiler's.
foreach(room IN ITEMS base page math system network model geometry rigid soft fluid particle couple
                      adjoint device record optimise learn evaluate)
  if(TARGET cycloid_${room})
    install(TARGETS cycloid_${room} EXPORT cycloid ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/cycloid/${room}"
      DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/cycloid"
      FILES_MATCHING PATTERN "*.h" PATTERN "*_test*" EXCLUDE)
  endif()
endforeach()
install(TARGETS cycloid_core EXPORT cycloid)

# cycloid::io: its other headers need MuJoCo's and are its own affair.
if(TARGET cycloid_io)
  install(TARGETS cycloid_io EXPORT cycloid ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  set(io_folder "${PROJECT_SOURCE_DIR}/cycloid/io")
  install(FILES "${io_folder}/load.h" "${io_folder}/appearance.h" "${io_folder}/builder.h"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/cycloid/io")
endif()
install(FILES "${PROJECT_SOURCE_DIR}/cycloid/cycloid.h"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/cycloid")
install(EXPORT cycloid NAMESPACE cycloid:: FILE cycloidTargets.cmake DESTINATION "${package_dir}")

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/cycloidConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/cycloidConfig.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/cycloidConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/cycloidConfig.cmake"
  "${PROJECT_BINARY_DIR}/cycloidConfigVersion.cmake" DESTINATION "${package_dir}")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DATADIR}/cycloid")
