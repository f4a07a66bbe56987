"""One browser for the tests of a file."""

import pytest
from browser import Browser


@pytest.fixture(scope="module")
def browser():
    with Browser() as running:
        yield running
