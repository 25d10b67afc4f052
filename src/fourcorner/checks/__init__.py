"""Checks: one file each, every one returning `results.Check` values."""
