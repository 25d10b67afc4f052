"""Files in and out: the only package that touches the file system.

`tables` reads score tables through DuckDB, with `sources` for the files and frames that rows come
from, `text` for what lines a text has, `derive` for new columns and `sql` for what an expression
may be; `files` reads and writes small texts, `runs` writes a run directory whole or not at all.
"""
