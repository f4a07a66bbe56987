// Marks of functions that run on the host and, under nvcc, on the device too.
//
// 1. CYCLOID_HD stands before every leaf function: nothing on the CPU, __host__ __device__ under
//    nvcc.
// 2. CYCLOID_INLINE is CYCLOID_HD plus forced inlining, for functions whose arguments must stay in
//    registers. Under a sanitizer and without optimisation it is a plain `inline`: such code,
//    inlined everywhere, compiles for many minutes.
// 3. CYCLOID_NOINLINE is CYCLOID_HD plus the reverse, for rare paths that would crowd the caller.
#pragma once

#if defined(__CUDACC__)
#define CYCLOID_HD __host__ __device__
#define CYCLOID_INLINE __host__ __device__ __forceinline__
#define CYCLOID_NOINLINE __host__ __device__ __noinline__
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
#define CYCLOID_HD
#define CYCLOID_INLINE inline
#define CYCLOID_NOINLINE __attribute__((noinline))
#else
#define CYCLOID_HD
#define CYCLOID_INLINE inline __attribute__((always_inline))
#define CYCLOID_NOINLINE __attribute__((noinline))
#endif
