"""Ranking: terms of the index, facets, scores, biases, and the compiled search config."""
