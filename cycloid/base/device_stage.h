// CYCLOID_STAGE: CYCLOID_HD for the stages of a step, which nvcc must not inline: the device's
// compiler takes minutes for a step in pieces, and did not end for the way back in a single one.
// CYCLOID_ONE_PIECE lets it inline them nevertheless.
#pragma once

#include "cycloid/base/host_device.h"

#if defined(__CUDACC__) && !defined(CYCLOID_ONE_PIECE)
#define CYCLOID_STAGE CYCLOID_NOINLINE
#else
#define CYCLOID_STAGE CYCLOID_HD
#endif
