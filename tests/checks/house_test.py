import pytest
from house import violations

GOOD = "// Vectors.\n#pragma once\n"
CALM = {"cycloid/math/vector.h": GOOD, "cycloid/math/vector_test.cpp": "int x;\n"}
EXCUSES = "tests/checks/untested_headers.txt"


def messages(tree, changed):
    return [str(violation) for violation in violations(tree(CALM | changed))]


def test_a_tidy_tree_passes(tree):
    assert (
        messages(tree, {"build/a_utils.cpp": "", "Makefile": "x" * 200, "docs/a.md": "x" * 200})
        == []
    )


@pytest.mark.parametrize(
    "path, text, expected",
    [
        ("cycloid/math/vector.h", "#pragma once\n", "starts with a comment"),
        ("cycloid/math/vector.h", "// Vectors.\n", "#pragma once is missing"),
        ("cycloid/math/vector.h", "// math/matrix.h: rows.\n#pragma once\n", "speaks of"),
        ("cycloid/math/matrix.h", GOOD, "no matrix_test.cpp beside it"),
        ("python/src/vector.h", GOOD, "has the name of cycloid/math/vector.h"),
        ("cycloid/math/Matrix.cpp", "", "snake_case"),
        ("cycloid/utils/a.cpp", "", "does not say what is in it"),
        ("cycloid/math/vector_helpers.cpp", "", "does not say what is in it"),
        ("cycloid/math/a.cpp", "x" * 101, "101 columns"),
        ("scripts/setup", "x" * 101, "101 columns"),
        ("cycloid/math/a.cpp", "// TOD" + "O: later", "left for later"),
        ("CMakeLists.txt", "-march=" + "native", "dies on another"),
        ("cmake/a.cmake", "-ffast-" + "math", "breaks NaN"),
        ("cmake/a.cmake", "-O" + "fast", "breaks NaN"),
        ("cycloid/math/a.cpp", "std::popco" + "unt(x)", "a constant on a device"),
        ("README.md", "see /ho" + "me/me/a", "a path of one machine"),
        ("requirements/a.txt", "--extra-index-" + "url x", "named, not located"),
        (EXCUSES, "cycloid/math/gone.h: whatever\n", "excuses nothing"),
        (EXCUSES, "cycloid/math/vector.h: has a test by now\n", "excuses nothing"),
    ],
)
def test_each_rule_can_fail(tree, path, text, expected):
    (message,) = messages(tree, {path: text})
    assert expected in message


def test_an_excused_header_needs_no_test_but_a_true_reason(tree):
    laws = {"cycloid/system/laws/lorenz.h": GOOD, "cycloid/system/laws_test.cpp": ""}
    reason = "cycloid/system/laws/*.h: see cycloid/system/laws_test.cpp\n"
    assert messages(tree, laws | {EXCUSES: reason}) == []
    (message,) = messages(tree, laws | {EXCUSES: "cycloid/system/laws/*.h:\n"})
    assert "without a reason" in message
    (message,) = messages(tree, laws | {EXCUSES: "cycloid/system/laws/*.h: see a/gone_test.cpp\n"})
    assert "gone_test.cpp does not exist" in message
