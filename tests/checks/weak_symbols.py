"""Checks that an instruction-set object exports its entry points and nothing else.

An object <target>_isa_<set>.o may define global symbols in namespace cycloid::isa::<set> only, and
no weak or unique ones: a template instantiated in two such objects would be one symbol to the
linker, and the portable program could get the wide copy.

    weak_symbols.py [--nm NM] OBJECT...
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

from source_tree import Violation, report

_OBJECT = re.compile(r"_isa_(\w+)\.o$")


def judge(name: str, listing: str):
    """The violations in one object, given what `nm --format=posix` prints about it."""
    instruction_set = _OBJECT.search(name)
    if not instruction_set:
        yield Violation(name, 0, "not an instruction-set object: its name must end in _isa_<set>.o")
        return
    set_name = instruction_set[1]
    prefix = f"_ZN7cycloid3isa{len(set_name)}{set_name}"
    exported = 0
    for line in listing.splitlines():
        symbol, kind, *_ = line.split()
        if kind in "WVu":
            what = "unique" if kind == "u" else "weak"
            yield Violation(name, 0, f"exports the {what} symbol {symbol}")
        elif kind.isupper() and kind not in "UN":
            exported += 1
            if not symbol.startswith(prefix):
                yield Violation(name, 0, f"exports {symbol}, outside cycloid::isa::{set_name}")
    if not exported:
        yield Violation(name, 0, f"exports no entry point in cycloid::isa::{set_name}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("objects", nargs="+", metavar="OBJECT")
    parser.add_argument("--nm", default="nm")
    arguments = parser.parse_args()
    found = []
    for path in arguments.objects:
        command = [arguments.nm, "--format=posix", path]
        nm = subprocess.run(command, capture_output=True, text=True)
        if nm.returncode:
            found.append(Violation(path, 0, f"cannot be read: {nm.stderr.strip()}"))
        else:
            found += judge(Path(path).name, nm.stdout)
    return report(found)


if __name__ == "__main__":
    sys.exit(main())
