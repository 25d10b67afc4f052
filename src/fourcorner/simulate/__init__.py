"""Seeded generators of synthetic cohorts with known truth, one module per cohort."""
