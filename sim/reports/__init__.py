"""What a run says of itself: figures, layers, losses, timelines."""
