"""What a machine costs: area and energy, from measured blocks and cited technologies."""
