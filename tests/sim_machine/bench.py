"""A host that drives the machine through its register window, as a driver would."""

from collections.abc import Sequence

import numpy as np

from dlasim.isa import codec
from dlasim.isa.registers import BY_NAME, HOMES, REGISTER_BYTES, Region
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.executor import ReferenceExecutor
from dlasim.sim.execution.machine import Dla
from dlasim.sim.programs.system_memory import SystemMemory

BASE = 0x8000_0000
REGION_BYTES = 4096
SRAM_BYTES = 4096
CONFIG = DlaConfig(sram_bytes=SRAM_BYTES, dma_unpacking=4, dma_decoding=4)
HALT = codec.encode("HALT")
NOP = codec.encode("NOP")
IRQ = codec.encode("IRQ")


def cfg(name: str, *values: int) -> int:
    """CFG of a register: a number, or the halves of a packed one."""
    register = BY_NAME[name]
    fields = {field.name: value for field, value in zip(register.fields, values, strict=True)}
    return codec.encode_cfg(name, register.pack(**fields))


def op(mnemonic: str, **fields: int) -> int:
    """Any other word."""
    return codec.encode(mnemonic, **fields)


def fill(address: int, value: int, count: int = 1) -> list[int]:
    """Words that fill bytes of SRAM."""
    return [
        cfg("OUT_ADDR", address),
        cfg("OUT_SIZE", 1, 1),
        cfg("OUT_CHANNELS", count),
        cfg("FILL_VALUE", value),
        op("OP_FILL"),
    ]


class Bench:
    """Five regions one after the other in memory, and the machine."""

    def __init__(self, config: DlaConfig = CONFIG, functional: bool = True) -> None:
        self.memory = np.zeros(REGION_BYTES * len(HOMES), np.uint8)
        self.completed = []
        executor = ReferenceExecutor() if functional else None
        self.dla = Dla(config, SystemMemory(self.memory, BASE), executor, self.completed.append)
        self.set_up()

    def set_up(self) -> None:
        """Tell the machine where the regions are."""
        for region in HOMES:
            self.write(f"REGION{region.value}_BASE", BASE + REGION_BYTES * region)
            self.write(f"REGION{region.value}_SIZE", REGION_BYTES)
        self.write("QUEUE_SIZE", REGION_BYTES // 8)

    def write(self, name: str, value: int) -> None:
        self.dla.store(BY_NAME[name].address, REGISTER_BYTES, value)

    def read(self, name: str) -> int:
        return self.dla.load(BY_NAME[name].address, REGISTER_BYTES)

    def flag(self, register: str, flag: str) -> bool:
        field = next(field for field in BY_NAME[register].fields if field.name == flag)
        return bool(field.extract(self.read(register)))

    def refused(self) -> bool:
        return self.flag("STATUS", "refused")

    def region(self, region: Region) -> np.ndarray:
        return self.memory[REGION_BYTES * region : REGION_BYTES * (region + 1)]

    def place(self, words: Sequence[int], first: int = 0) -> int:
        """Words into the queue's memory; the index after the last."""
        raw = np.array(words, "<u8").view(np.uint8)
        self.region(Region.COMMANDS)[8 * first : 8 * first + len(raw)] = raw
        return first + len(words)

    def ring(self, tail: int) -> None:
        self.write("DOORBELL", tail)

    def finish(self) -> int:
        """Let time pass until nothing is due; the cycle in which that is."""
        while (due := self.dla.next_event()) is not None:
            self.dla.tick(due)
        return self.dla.now

    def run(self, words: Sequence[int]) -> None:
        """A stream from the start of the queue to its end."""
        self.write("QUEUE_READ", 0)
        self.ring(self.place(words))
        self.finish()

    def command(self, word: int) -> None:
        """One instruction through the command registers, to its end."""
        self.write("COMMAND_LOW", word & 0xFFFF_FFFF)
        self.write("COMMAND_HIGH", word >> 32)
        self.finish()
