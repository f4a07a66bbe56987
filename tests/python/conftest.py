"""Settings that all tests of the Python package share.

The package is the one that .venv finds (build/python), or that PYTHONPATH names.
"""

import os

from hypothesis import HealthCheck, settings

# The same examples every time. `make test-long` draws many more.
settings.register_profile(
    "cycloid",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=5000 if os.environ.get("CYCLOID_LONG_TESTS") else 150,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.load_profile("cycloid")
