"""What is on the bus: memories, timer, console, exit device, and the accelerator's registers."""
