"""Bayesian engine: hierarchical models of cells, their posteriors and contrasts."""
