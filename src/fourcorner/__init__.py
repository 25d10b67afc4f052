"""fourcorner."""
