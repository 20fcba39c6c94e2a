"""Where everything lies in the SRAM, and constants in memory."""
