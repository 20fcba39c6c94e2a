"""The board: its parts put together, the accelerator as simulator or RTL, and what a run leaves behind."""
