"""What a sweep evaluates: models, parameters, conditions, and the points that result."""
