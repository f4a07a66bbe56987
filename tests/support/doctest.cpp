// doctest itself, compiled once for all test executables.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
