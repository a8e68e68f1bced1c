"""What boards take without a model: ``python -m tests.bench.reserved``.

Arduino's core is that of Debian's ``arduino-core-avr``, linked as its `platform.txt`
says with a sketch that writes to its serial port; simavr watches its stack.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.smpcore.codegen.toolchain import run

_CORE = Path("/usr/share/arduino/hardware/arduino/avr")
_SKETCH = """
#include <Arduino.h>
void setup() { Serial.begin(115200); }
void loop() { if (!Serial.available()) Serial.println(millis()); }
"""
#: Half a second of the sketch, an instruction at a time.
_WATCH = """
#include <stdio.h>
#include <simavr/sim_avr.h>
#include <simavr/sim_elf.h>
static void quiet(avr_t *a, const int l, const char *f, va_list v) { }
int main(void)
{
    static elf_firmware_t firmware;
    unsigned lowest = 0x8ff, sp;
    avr_t *avr = avr_make_mcu_by_name("atmega328p");

    avr_global_logger_set(quiet);
    elf_read_firmware("sketch.elf", &firmware);
    avr->frequency = 16000000;
    avr_init(avr);
    avr_load_firmware(avr, &firmware);
    while (avr->cycle < 8000000) {
        avr->run_cycle_count = 1;
        avr_run(avr);
        sp = avr->data[0x5d] | avr->data[0x5e] << 8;
        lowest = sp > 0x300 && sp < lowest ? sp : lowest;
    }
    fprintf(stderr, "%u", 0x8ff - lowest);
}
"""
#: Bytes of the bootloader: 32,768 less `uno.upload.maximum_size` of `boards.txt`.
_BOOTLOADER = 512
#: Words of the table of interrupts and of an interrupt's frame, by the manuals of
#: Armv6-M and Armv7-M (all interrupts; the frame with floats).
_CORTEX = {
    "Cortex-M0": ("-mcpu=cortex-m0", 48, 8),
    "Cortex-M4F": ("-mcpu=cortex-m4 -mfpu=fpv4-sp-d16 -mfloat-abi=hard", 256, 26),
}


def _sizes(tools: str, program: str, folder: Path) -> tuple[int, int]:
    table = run(f"{tools}-size", program, cwd=folder).decode()
    text, data, bss = map(int, table.splitlines()[1].split()[:3])
    return text + data, data + bss


def _arduino(folder: Path) -> tuple[int, int]:
    """Flash and RAM of a sketch on an Uno."""
    flags = "-Os -w -flto -mmcu=atmega328p -DF_CPU=16000000L -DARDUINO=10819".split()
    flags += ["-ffunction-sections", "-fdata-sections", "-DDECIMAL_DIG=9"]
    flags += [f"-I{_CORE / one}" for one in ("cores/arduino", "variants/standard")]
    (folder / "sketch.cpp").write_text(_SKETCH)
    sources = [folder / "sketch.cpp", *sorted((_CORE / "cores/arduino").iterdir())]
    ways = {".c": ["-std=gnu11"], ".S": ["-xassembler-with-cpp"]}
    ways[".cpp"] = "-std=gnu++11 -fpermissive -fno-exceptions".split()
    ways[".cpp"].append("-fno-threadsafe-statics")
    for source in sources:
        if source.suffix in ways:
            how = [*ways[source.suffix], "-c", source, "-o", f"{source.name}.o"]
            run("avr-gcc", *flags, *how, cwd=folder)
    core = [one for one in folder.glob("*.o") if one.name != "sketch.cpp.o"]
    run("avr-gcc-ar", "rcs", "core.a", *core, cwd=folder)
    link = "sketch.cpp.o core.a -Wl,--gc-sections -lm -o sketch.elf".split()
    run("avr-gcc", *flags, *link, cwd=folder)
    (folder / "watch.c").write_text(_WATCH)
    run("gcc", "-w", "watch.c", "-o", "watch", "-lsimavr", "-lelf", cwd=folder)
    stack = int(run("sh", "-c", "./watch 2>&1 >/dev/null", cwd=folder))
    flash, ram = _sizes("avr", "sketch.elf", folder)
    print(f"Arduino's core with Serial: flash {flash}, RAM {ram}, stack {stack}")
    return flash + _BOOTLOADER, ram + stack


def _cortex(chip: str, folder: Path) -> tuple[int, int]:
    """Flash and RAM of a program in C that does nothing."""
    flags, table, frame = _CORTEX[chip]
    (folder / "main.c").write_text("int main(void) { for (;;) { } }\n")
    how = "-mthumb -Os -Wl,--gc-sections --specs=nano.specs --specs=nosys.specs".split()
    run("arm-none-eabi-gcc", *flags.split(), *how, "main.c", "-o", "main", cwd=folder)
    flash, ram = _sizes("arm-none-eabi", "main", folder)
    return flash + 4 * table, ram + 4 * frame


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        made = {"Arduino Uno": _arduino(Path(name))}
        made |= {chip: _cortex(chip, Path(name)) for chip in _CORTEX}
    for board, (flash, ram) in made.items():
        print(f"{board}: reserved flash {flash} B, reserved RAM {ram} B")
