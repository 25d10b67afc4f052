"""Shared by all tests: Hypothesis draws the same examples in every run and has no stop-watch."""

from hypothesis import settings

settings.register_profile("fourcorner", derandomize=True, deadline=None)
settings.load_profile("fourcorner")
