import pytest
from include_arrows import violations

ROOMS = """
cycloid_room(base)
cycloid_room(math DEPENDS base)
cycloid_room(system DEPENDS math)
cycloid_room(adjoint DEPENDS system LINK Something::else)
cycloid_room(io DEPENDS adjoint)
"""


def messages(tree, path, include, rooms=ROOMS):
    root = tree({"CMakeLists.txt": rooms, path: f"// a file\n#include {include}\n"})
    return [str(violation) for violation in violations(root)]


@pytest.mark.parametrize(
    "path, include",
    [
        ("cycloid/math/a.h", '"cycloid/math/b.h"'),
        ("cycloid/adjoint/a.h", '"cycloid/base/b.h"'),
        ("cycloid/adjoint/a.cpp", "<vector>"),
        ("cycloid/math/a_test.cpp", "<doctest/doctest.h>"),
        ("cycloid/math/a_test_isa.cpp", '"tests/support/b.h"'),
        ("cycloid/io/a.cpp", "<mujoco/mujoco.h>"),
        ("examples/a.cpp", '"cycloid/adjoint/b.h"'),
        ("examples/a.cpp", '"cycloid/cycloid.h"'),
        ("cycloid/cycloid.h", '"cycloid/adjoint/b.h"'),
        ("cli/a.cpp", '"neighbour.h"'),
        ("cli/a.cpp", '"cli/tour/neighbour.h"'),
        ("cycloid/base/a.h", '"cycloid/base/b.h"  // not #include "cycloid/math/b.h"'),
    ],
)
def test_includes_along_the_arrows_pass(tree, path, include):
    assert messages(tree, path, include) == []


@pytest.mark.parametrize(
    "path, include, expected",
    [
        ("cycloid/base/a.h", '"cycloid/math/b.h"', "base includes math against the arrows"),
        ("cycloid/system/a.h", '"cycloid/geometry/b.h"', "system includes geometry against"),
        ("cycloid/adjoint/a.h", '"cycloid/rigid/b.h"', "does not depend on"),
        ("cycloid/adjoint/a.h", '"cycloid/cycloid.h"', "is for users"),
        ("cycloid/math/a.h", '"b.h"', "from the root"),
        ("cycloid/math/a.h", '"../base/b.h"', "from the root"),
        ("cycloid/math/a.h", '"cli/b.h"', "from the root"),
        ("python/a.cpp", '"cli/b.h"', "from the root"),
        ("cycloid/math/a.h", '"tests/support/b.h"', "for tests only"),
        ("cycloid/math/a.h", "<doctest/doctest.h>", "belongs to tests"),
        ("cycloid/adjoint/a.cpp", "<mujoco/mujoco.h>", "belongs to io"),
        ("cycloid/io/a.cpp", "<H5Cpp.h>", "belongs to record"),
        ("cycloid/io/a.cpp", "<torch/torch.h>", "belongs to learn"),
        ("cycloid/odds/a.h", "<vector>", "has no place among the arrows"),
        ("cycloid/math/a.h", '"cycloid/odds/b.h"', "has no place among the arrows"),
    ],
)
def test_an_include_against_the_arrows_fails(tree, path, include, expected):
    (message,) = messages(tree, path, include)
    assert expected in message


def test_a_room_that_depends_on_a_later_one_fails(tree):
    rooms = "cycloid_room(base)\ncycloid_room(adjoint)\ncycloid_room(math DEPENDS adjoint)\n"
    (message,) = messages(tree, "cycloid/base/a.h", "<vector>", rooms)
    assert "math depends on adjoint against the arrows" in message
