"""Long runs whose results are committed: speed of the cell model, and its simulation studies."""
