"""What a board runs: ELF files, the launch block, and where a program's regions lie."""
