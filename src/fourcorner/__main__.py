"""`python -m fourcorner` is the command line."""

from fourcorner.cli import main

main()
