"""A machine that is busy for long, and what tests of its host interface read of one."""

from dlasim.isa.registers import COUNTERS, Region
from tests.sim_machine.bench import CONFIG, HALT, Bench, cfg, op

SLOW = CONFIG.replace(dma_latency=1000)
READ = [cfg("DMA_IN_REGION", Region.ARENA), op("OP_DMA_READ")]
WORKING = [*READ, HALT]  # busy for more than 1000 cycles on SLOW


def busy_bench() -> Bench:
    bench = Bench(SLOW)
    bench.ring(bench.place(WORKING))
    assert bench.flag("STATUS", "busy")
    return bench


def counters(bench: Bench) -> dict[str, int]:
    return {n: bench.read(f"COUNT_{n}_LOW") | bench.read(f"COUNT_{n}_HIGH") << 32 for n, _ in COUNTERS}
