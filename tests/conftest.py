"""Shared by all tests.

Hypothesis draws the same examples in every run and has no stop-watch. Under pytest-xdist a file
stays on one worker, and all files that look at a model's fit share one, so that each model is
compiled and sampled once in a session.
"""

import re
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("fourcorner", derandomize=True, deadline=None)
settings.load_profile("fourcorner")

TESTS = Path(__file__).parent
SHARING = {  # files that fit a model which others have compiled
    "test_notebooks.py",
    *(p.name for p in TESTS.glob("test_*.py") if re.search(r"^import fits$", p.read_text(), re.M)),
}


def group(nodeid):
    """What must stay on one worker with a test.

    Not by the marks of pytest-xdist: its loadgroup writes to a name of the item that pytest reads
    no more, so that marked tests went to any worker.
    """
    file = Path(nodeid.partition("::")[0]).name
    return "fits" if file in SHARING else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from xdist.scheduler import LoadScopeScheduling

    class ByGroup(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return group(nodeid)

    return ByGroup(config, log)
