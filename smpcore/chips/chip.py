"""The chips that models are measured on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Chip:
    """A chip, how to compile for it, and what plays it.

    Parameters
    ----------
    name : str
        Name of the chip, the key in `CHIPS`.
    tools : str
        Begin of its compiler's names.
    flags, libraries : tuple of str
        Of the compiler. A Cortex-M is linked without a C library, so that none can be
        needed.
    machine : str
        What plays it: the name of the chip for simavr, of a board for QEMU.
    counted : str
        "cycles", which are exact, or "instructions": QEMU knows of no cycles, and one
        instruction takes at least one.
    flash, ram : int, optional
        Bytes that it has. A Cortex-M is a core, which makers give memories of all
        sizes.
    table : int, optional
        Most bytes of one table.
    """

    name: str
    tools: str
    flags: tuple[str, ...]
    libraries: tuple[str, ...]
    machine: str
    counted: str
    flash: int | None = None
    ram: int | None = None
    table: int | None = None

    @property
    def needs(self) -> tuple[str, ...]:
        """Commands that have to be there."""
        compilers = f"{self.tools}-gcc", f"{self.tools}-size"
        return (*compilers, "gcc" if self.tools == "avr" else "qemu-system-arm")


def _cortex(name: str, flags: str, machine: str) -> Chip:
    flags = f"{flags} -mthumb -nostdlib"
    return Chip(
        name,
        "arm-none-eabi",
        tuple(flags.split()),
        ("-lgcc",),
        machine,
        "instructions",
    )


# The linker is to tell the size of what is too large, too.
_ANY_SIZE = (
    "-Wl,--defsym=__TEXT_REGION_LENGTH__=8M",
    "-Wl,--defsym=__DATA_REGION_LENGTH__=0xf000",
)

_CHIPS = (
    Chip(
        "ATmega328P",
        "avr",
        ("-mmcu=atmega328p", *_ANY_SIZE),
        (),
        "atmega328p",
        "cycles",
        32 * 1024,
        2 * 1024,
        2**15 - 1,
    ),
    _cortex("Cortex-M0", "-mcpu=cortex-m0", "mps2-an385"),
    _cortex(
        "Cortex-M4F",
        "-mcpu=cortex-m4 -mfpu=fpv4-sp-d16 -mfloat-abi=hard",
        "mps2-an386",
    ),
)

#: Name -> chip.
CHIPS = {chip.name: chip for chip in _CHIPS}
