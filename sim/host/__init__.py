"""Host operators: what the DLA cannot do, exact, on the CPU side of the standalone simulator."""
