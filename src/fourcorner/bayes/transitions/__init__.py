"""The transition model: many changes per unit, a model of the endpoints that they share."""
