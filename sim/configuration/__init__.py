"""What a machine is: its parameters as a table, presets, and the tables of memories."""
