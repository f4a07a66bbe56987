# MuJoCo 4.0.0 from the Python package mujoco-core: its headers, and where its library is.
#
# The package has no CMake files and no unversioned library, so the folder is asked of Python:
# Python_EXECUTABLE, else the project's .venv, else python3. Defines
#   MujocoCore_FOUND    the package is there, in the release that room io is written for
#   MujocoCore_LIBRARY  the full path of the library, which is opened at run time and never linked
#   MujocoCore::headers the headers, as an imported target
set(MujocoCore_VERSION_WANTED 4.0.0)

foreach(python IN ITEMS "${Python_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/.venv/bin/python" python3)
  if(NOT python)
    continue()
  endif()
  # The two lines of Python are a list: its semicolon parts them.
  set(ask "import importlib.util as u"
          "print(*u.find_spec('mujoco').submodule_search_locations, sep=chr(59))")
  execute_process(COMMAND "${python}" -P -c "${ask}"
    OUTPUT_VARIABLE folders OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    continue()
  endif()
  foreach(folder IN LISTS folders)
    if(EXISTS "${folder}/libmujoco.so.${MujocoCore_VERSION_WANTED}" AND
       EXISTS "${folder}/include/mujoco/mujoco.h")
      set(MujocoCore_LIBRARY "${folder}/libmujoco.so.${MujocoCore_VERSION_WANTED}")
      set(MujocoCore_INCLUDE_DIR "${folder}/include")
      break()
    endif()
  endforeach()
  if(MujocoCore_LIBRARY)
    break()
  endif()
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(MujocoCore
  REQUIRED_VARS MujocoCore_LIBRARY MujocoCore_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "pip install mujoco-core==${MujocoCore_VERSION_WANTED} into the Python \
of Python_EXECUTABLE or into .venv, or configure with -DCYCLOID_MUJOCO=OFF")

if(MujocoCore_FOUND AND NOT TARGET MujocoCore::headers)
  add_library(MujocoCore::headers INTERFACE IMPORTED)
  set_target_properties(MujocoCore::headers PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${MujocoCore_INCLUDE_DIR}")
endif()
