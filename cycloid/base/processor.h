// base/processor.h: which instruction sets this processor and its operating system run.
//
// The compiler's runtime asks cpuid, and xgetbv for the registers that the operating system saves.
// Includes nothing, so that the build can ask too (cmake/widest_set.cpp).
#pragma once

namespace cycloid::inline base {

// x86-64-v3: AVX2 and FMA.
inline bool runs_v3() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("f16c") && __builtin_cpu_supports("lzcnt") &&
         __builtin_cpu_supports("movbe");
#else
  return false;
#endif
}

// x86-64-v4: AVX-512.
inline bool runs_v4() {
#if defined(__x86_64__)
  return runs_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
#else
  return false;
#endif
}

}  // namespace cycloid::inline base
