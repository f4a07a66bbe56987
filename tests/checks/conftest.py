"""A fixture for the tests of the checks: a small repository in a temporary folder."""

import pytest


@pytest.fixture
def tree(tmp_path):
    """tree({"cycloid/math/a.h": text, ...}) writes the files and returns the folder."""

    def write(contents: dict[str, str]):
        for name, text in contents.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return write
