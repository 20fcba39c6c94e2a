"""Names of the files that a finished sweep leaves in its folder."""

RESULTS, LAYERS, ABOUT = "results.csv", "layers.csv", "sweep.json"
