"""Pure scorers and their aggregation. No clock, randomness, network, file or simulator."""
