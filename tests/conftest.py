"""Shared by all tests.

Hypothesis draws the same examples in every run and has no stop-watch. Under pytest-xdist a file
stays on one worker, and all files that look at a model's fit share one, so that each model is
compiled and sampled once in a session.
"""

import pytest
from hypothesis import settings

import fits

settings.register_profile("fourcorner", derandomize=True, deadline=None)
settings.load_profile("fourcorner")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        shared = getattr(item.module, "fits", None) is fits
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group("fits" if shared else item.path.stem))
