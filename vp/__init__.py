"""The virtual prototype: an emulated RISC-V host with the DLA on its bus."""

HOSTS = ("none", "riscv")  # what simulates the CPU: nothing (its cycles are estimated), or this prototype
