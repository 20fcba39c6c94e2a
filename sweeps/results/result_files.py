"""Names of the files that a sweep leaves in its folder, and how its table says that it is not complete."""

RESULTS, LAYERS, ABOUT = "results.csv", "layers.csv", "sweep.json"
CONFIRMED = "confirmed.csv"
PENDING = "pending"  # the status of a point that was not done when the table was written
