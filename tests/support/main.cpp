// main() of every test executable: runs doctest, then walks the register of operators of the room.
//
// CYCLOID_OPERATORS_HEADER, where the build defines it, is the room's operators.h. After a complete
// run in which all tests passed, each differentiable operator in it must have been marked as tested
// (tests/support/pullback_check.h does that); otherwise the executable fails and names it. A run
// that a filter has narrowed is not judged, and says so: under ctest that is a failure, because a
// room's test is the whole room. A test case that skips itself (doctest::skip) narrows nothing.
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "tests/support/operator_coverage.h"

#ifdef CYCLOID_OPERATORS_HEADER
#include CYCLOID_OPERATORS_HEADER
#endif

namespace cycloid::test {

namespace {

struct Coverage {
  std::mutex mutex;
  std::set<std::string, std::less<>> tested;
  bool complete = false;
};

Coverage& coverage() {
  static Coverage instance;
  return instance;
}

// Sees whether every test case that does not skip itself ran and passed. Subcases are not counted
// by doctest; their filter is looked for among the arguments.
struct CompleteRunListener : doctest::IReporter {
  explicit CompleteRunListener(const doctest::ContextOptions&) {}
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override { skipped = 0; }
  void test_run_end(const doctest::TestRunStats& run) override {
    coverage().complete = skipped == 0 && run.numTestCasesFailed == 0;
  }
  void test_case_start(const doctest::TestCaseData&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData& test) override {
    if (!test.m_skip) ++skipped;
  }

  int skipped = 0;
};
REGISTER_LISTENER("complete_run", 0, CompleteRunListener);

bool filters_subcases(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    if (arg.find("-sc") != arg.npos || arg.find("subcase") != arg.npos) return true;
  }
  return false;
}

// Names the differentiable operators of the room that no passed check has marked.
bool every_operator_is_tested() {
  bool complete = true;
#ifdef CYCLOID_OPERATORS_HEADER
  for (const Operator& op : kOperators) {
    if (!op.is_differentiable() || coverage().tested.contains(op.name)) continue;
    std::fprintf(stderr, "untested operator: %.*s\n", static_cast<int>(op.name.size()),
                 op.name.data());
    complete = false;
  }
  if (!complete) {
    std::fprintf(stderr,
                 "%s registers these as differentiable, but no check of their pullback passed.\n"
                 "Test them with cycloid::test::check_pullback, or register them as "
                 "not_differentiable with the reason.\n",
                 CYCLOID_OPERATORS_HEADER);
  }
#endif
  return complete;
}

}  // namespace

void mark_operator_tested(std::string_view name) {
  const std::scoped_lock lock(coverage().mutex);
  coverage().tested.emplace(name);
}

}  // namespace cycloid::test

int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  const int status = context.run();
  if (status != 0 || context.shouldExit()) return status;
  if (!cycloid::test::coverage().complete || cycloid::test::filters_subcases(argc, argv)) {
    std::puts("The register of operators was not judged: a filter has narrowed the run.");
    return EXIT_SUCCESS;
  }
  return cycloid::test::every_operator_is_tested() ? EXIT_SUCCESS : EXIT_FAILURE;
}
