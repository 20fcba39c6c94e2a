"""The virtual prototype: an emulated RISC-V host with the DLA on its bus."""
