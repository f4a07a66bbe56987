import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from weak_symbols import judge

ENTRY = "_ZN7cycloid3isa2v34stepEv T 0 1\n"


@pytest.mark.parametrize(
    "line, expected",
    [
        ("", None),
        ("_Z5localv t 0 1", None),
        ("malloc U", None),
        ("__gmon_start__ w", None),
        ("_ZSt4sortv W 0 1", "weak symbol _ZSt4sortv"),
        ("_ZTV1A V 0 1", "weak symbol"),
        ("_ZN7cycloid3isa2v35widthIiEE W 0 1", "weak symbol"),
        ("_ZGVZ1fvE1s u 0 1", "unique symbol"),
        ("_ZN7cycloid4stepEv T 0 1", "outside cycloid::isa::v3"),
        ("_ZN7cycloid3isa2v44stepEv T 0 1", "outside cycloid::isa::v3"),
        ("table D 0 1", "outside cycloid::isa::v3"),
    ],
)
def test_only_entry_points_of_the_set_may_be_exported(line, expected):
    found = [str(violation) for violation in judge("room_isa_v3.o", ENTRY + line)]
    if expected is None:
        assert found == []
    else:
        assert len(found) == 1 and expected in found[0]


def test_an_object_without_entry_points_or_of_another_kind_fails():
    assert "no entry point" in str(list(judge("room_isa_v3.o", ""))[0])
    assert "not an instruction-set object" in str(list(judge("room.o", ENTRY))[0])


@pytest.mark.skipif(not shutil.which("g++"), reason="needs g++")
def test_a_template_instantiated_in_a_real_object_is_caught(tmp_path):
    source, compiled = tmp_path / "a.cpp", tmp_path / "room_isa_v3.o"
    source.write_text(
        "template <class T> T twice(T x) { return x + x; }\n"
        "namespace cycloid::isa::v3 { int step(int x) { return twice(x); } }\n"
    )
    subprocess.run(["g++", "-O0", "-c", source, "-o", compiled], check=True)
    check = [sys.executable, Path(__file__).with_name("weak_symbols.py"), compiled]
    result = subprocess.run(check, capture_output=True, text=True)
    assert result.returncode == 1 and "weak symbol _Z5twice" in result.stdout
    compiled.unlink()
    result = subprocess.run(check, capture_output=True, text=True)
    assert result.returncode == 1 and "cannot be read" in result.stdout
