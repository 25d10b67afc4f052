"""Files in and out: the only package that touches the file system.

`tables` reads score tables through DuckDB, `files` reads and writes small texts, `runs` writes a
run directory whole or not at all.
"""
