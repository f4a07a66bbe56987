# Compiler flags that every target shares, and the instruction sets of the batch core.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(CYCLOID_CCACHE ccache)
if(CYCLOID_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CYCLOID_CCACHE}")
endif()

find_package(Threads REQUIRED)

# Arithmetic: contraction to fused multiply-add is allowed, reordering is not; NaN masks stay.
add_library(cycloid_flags INTERFACE)
target_compile_options(cycloid_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Werror -Wno-psabi
  -fno-math-errno -fno-trapping-math -ffp-contract=fast)

# The sets the batch core is compiled for, narrowest first. `portable` is the compiler's baseline.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(CYCLOID_INSTRUCTION_SETS_DEFAULT "portable;v3;v4")
else()
  set(CYCLOID_INSTRUCTION_SETS_DEFAULT "portable")
endif()
set(CYCLOID_INSTRUCTION_SETS "${CYCLOID_INSTRUCTION_SETS_DEFAULT}" CACHE STRING
    "Instruction sets of the batch core: portable, v3 (AVX2), v4 (AVX-512)")
set(CYCLOID_FLAGS_portable "")
set(CYCLOID_FLAGS_v3 -march=x86-64-v3)
set(CYCLOID_FLAGS_v4 -march=x86-64-v4 -mprefer-vector-width=512)
