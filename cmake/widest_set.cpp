// Prints the widest instruction set that this machine runs, for CYCLOID_INSTRUCTION_SETS=widest.
#include <cstdio>

#include "cycloid/base/processor.h"

int main() {
  std::puts(cycloid::runs_v4() ? "v4" : cycloid::runs_v3() ? "v3" : "portable");
}
