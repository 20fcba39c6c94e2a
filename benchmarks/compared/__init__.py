"""What `accuracy.py` compares dlasim with: one module for each machine, one for what they share."""
