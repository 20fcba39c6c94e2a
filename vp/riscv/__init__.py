"""The CPU: RV32IMAC on Unicorn, with exact counts of instructions and cycles."""
