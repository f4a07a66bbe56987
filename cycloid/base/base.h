// base/base.h: the ground floor. What every other room needs and none of it is physics.
//
//   error.h            what is thrown, by whose fault, and how its text is built
//   check.h            CYCLOID_CHECK: our own mistakes, as an exception and never an abort
//   nearest_name.h     "did you mean …?" for a name that does not exist
//   byte_size.h        "64MB" to a number and back
//   host_device.h      CYCLOID_HD: the mark of a function that a GPU can compile as well
//   instruction_set.h  which copy of the batch core runs on this processor
//   core_count.h       how many threads are worth starting here
//   free_memory.h      how much memory is left for this process
//   thread_pool.h      parallel_for over chunks of environments
//   interrupt.h        how a long run is asked to stop
//   large_block.h      large blocks, kept for the next who asks
//   arena.h            one block of memory, handed out in order and given back in reverse
//   table.h            tables of plain numbers in one block, as kernels and devices read them
//   random.h           random numbers that depend on seed, environment and step alone
//   operator_register.h  the list of operators that a test walks for their pullbacks
//
// Start with error.h for the manners of the house, then thread_pool.h, on which every rollout
// stands. Nothing here includes another room, and this page includes nothing at all: take the
// header you need.
#pragma once
