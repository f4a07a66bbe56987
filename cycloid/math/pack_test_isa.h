// What pack_test.cpp asks of each instruction set.
#pragma once

#include <string>

// pack_failures: a line for each operation on packs that differs from scalars; empty when none.
#define CYCLOID_PACK_ENTRIES(set) \
  namespace cycloid::isa::set {   \
  std::string pack_failures();    \
  int register_bytes();           \
  }
