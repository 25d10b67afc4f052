"""Design engine: estimates and bootstrap intervals from observed cells, no model."""
