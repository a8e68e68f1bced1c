"""Files of the targets that are built from C: who needs which."""

from __future__ import annotations

import json

from smpcore.codegen.names import c_float
from smpcore.codegen.package import Files, Package
from smpcore.codegen.readme import use_in_c
from smpcore.codegen.target import Target
from smpcore.codegen.targets.c99.constant_tables import number_types
from smpcore.codegen.targets.c99.frame import FLAGS, head

#: Folder of the sources of a library, and of what no compiler reads.
_SOURCES, _EXTRAS = "src/", "extras/"


def _in_folder(folder: str, files: Files) -> Files:
    """The same files, in a folder."""
    return {f"{folder}{name}": content for name, content in files.items()}


def library(package: Package) -> Files:
    """Sources, self-test and documents, as package managers of C want them."""
    sources = _in_folder(_SOURCES, package.sources | package.tests)
    return sources | _in_folder(_EXTRAS, package.documents)


def _plain_c(package: Package) -> Files:
    """All sources in one folder, with an example and a Makefile."""
    return {
        **package.sources,
        **package.tests,
        **package.documents,
        f"{package.name}_example.c": _example(package),
        f"{package.name}_board.c": _board(package),
        "Makefile": _makefile(package),
    }


def _platformio(package: Package) -> Files:
    """A library of PlatformIO."""
    told = {
        "name": package.name,
        "version": "1.0.0",
        "description": f"A trained {package.what}; no heap, no other library.",
        "keywords": "machine learning, classifier, prototypes",
        "license": "0BSD",
        "frameworks": "*",
        "platforms": "*",
        "headers": f"{package.name}.h",
        "build": {"srcDir": "src", "flags": "-ffp-contract=off"},
    }
    return library(package) | {"library.json": json.dumps(told, indent=2) + "\n"}


def _zephyr(package: Package) -> Files:
    """A module of Zephyr."""
    name, tests = package.name, _c_files(package.tests)
    option = f"{name.upper()}_MODEL"
    sources = " ".join(f"../src/{file}" for file in _c_files(package.sources))
    tried = " ".join(f"../src/{file}" for file in tests)
    return library(package) | {
        "zephyr/module.yml": f"""\
name: {name}
build:
  cmake: zephyr
  kconfig: zephyr/Kconfig
""",
        "zephyr/Kconfig": f"""\
config {option}
\tbool "Model {name}: {package.what}"
\thelp
\t  Compiles {name}.c and its like; include <{name}.h>.

config {option}_SELFTEST
\tbool "Test vectors of model {name}"
\tdepends on {option}
\thelp
\t  {name}_selftest() returns how many test vectors get a wrong answer.
""",
        "zephyr/CMakeLists.txt": f"""\
if(CONFIG_{option})
  zephyr_include_directories(../src)
  zephyr_library()
  zephyr_library_compile_options(-ffp-contract=off)
  zephyr_library_sources({sources})
  zephyr_library_sources_ifdef(CONFIG_{option}_SELFTEST {tried})
endif()
""",
    }


def _cmake(package: Package) -> Files:
    """A target of CMake, which tests itself where it is the whole project."""
    name = package.name
    sources = " ".join(f"src/{file}" for file in _c_files(package.sources))
    tests = " ".join(f"src/{file}" for file in _c_files(package.tests))
    text = f"""\
cmake_minimum_required(VERSION 3.10)
project({name} VERSION 1.0.0 LANGUAGES C)

add_library({name} STATIC {sources})
add_library({name}::{name} ALIAS {name})
target_include_directories({name} PUBLIC src)
target_compile_features({name} PUBLIC c_std_99)
if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
  target_compile_options({name} PRIVATE -ffp-contract=off)
endif()

if(CMAKE_CURRENT_SOURCE_DIR STREQUAL CMAKE_SOURCE_DIR)
  enable_testing()
  add_executable({name}_example examples/{name}_example.c {tests})
  target_link_libraries({name}_example PRIVATE {name}::{name})
  add_test(NAME {name}_selftest COMMAND {name}_example)
endif()
"""
    return library(package) | {
        "CMakeLists.txt": text,
        f"examples/{name}_example.c": _example(package),
    }


def _sources(package: Package) -> str:
    """Files that go into a program, in words."""
    names = [f"`{n}`" for n in package.sources if not n.endswith("_inputs.c")]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _use_plain_c(package: Package) -> str:
    name = package.name
    return f"""\
1. Unpack the zip. In the folder `{name}`, run `make`: it compiles for this computer,
   answers one row and prints `{package.passed}`.
   `make avr`, `make cortex-m0` and `make cortex-m4f` compile for chips and print sizes.
   `make simavr` and `make qemu` run the self-test on a simulated ATmega328P and
   Cortex-M: of Debian they need gcc-avr, avr-libc, simavr; and gcc-arm-none-eabi,
   qemu-system-arm.
2. Add {_sources(package)} to your project;
   any C99 or C++ compiler takes them, for instance with
   `avr-gcc -mmcu=atmega328p {FLAGS} -Os -c {name}.c`.
3. Call the model:

{use_in_c(package, f'"{name}.h"')}"""


def _use_platformio(package: Package) -> str:
    name = package.name
    return f"""\
1. Unpack the zip into the folder `lib` of your project, so that there is a
   `lib/{name}/library.json`. PlatformIO finds it by itself.
2. Include it and call the model:

{use_in_c(package, f"<{name}.h>")}"""


def _use_zephyr(package: Package) -> str:
    name = package.name
    option = f"CONFIG_{name.upper()}_MODEL"
    return f"""\
1. Unpack the zip beside your application and name its folder to the build:
   `west build -b BOARD app -- -DEXTRA_ZEPHYR_MODULES=$PWD/{name}`.
2. Add `{option}=y` to `prj.conf`; and `{option}_SELFTEST=y` for the self-test.
3. Include it and call the model:

{use_in_c(package, f"<{name}.h>")}"""


def _use_cmake(package: Package) -> str:
    name = package.name
    return f"""\
1. Unpack the zip and try it in the folder `{name}`:
   `cmake -B build && cmake --build build && ctest --test-dir build`. The program
   `build/{name}_example` prints `{package.passed}`.
2. In the `CMakeLists.txt` of your project write `add_subdirectory({name})` and
   `target_link_libraries(your_program PRIVATE {name}::{name})`.
3. Include it and call the model:

{use_in_c(package, f"<{name}.h>")}"""


def _c_files(files: Files) -> list[str]:
    return sorted(name for name in files if name.endswith(".c"))


def _example(package: Package) -> str:
    """A program that answers one row of the user's table, then tests itself."""
    model, name, whole = package.model, package.name, package.is_whole
    m = name.upper()
    values = "\n".join(
        f"    {c_float((e.low + e.high) / 2 if not e.levels else 0)},"
        f" /* {m}_IN_{e.identifier.upper()} */"
        for e in package.source.inputs
    )
    kind = number_types(model)[0]
    given, declare, convert, test, wrong = "values", "", "", "", ""
    if whole:
        given, wrong = "x", " || wrong != 0"
        declare = f"    {kind} x[{m}_N];\n    unsigned wrong;\n"
        convert = f"    {name}_quantise(values, x);\n"
        test = f"""\
    wrong = {name}_selftest_quantise();
    printf("conversion: %u of %u differ\\n", wrong, (unsigned){m}_CONVERSIONS);
"""
    answer = f'    printf("class: %s\\n", {name}_label({name}_predict({given})));'
    if model.is_regression:
        value = f"(double){name}_predict({given})"
        if whole:
            value = f"{value} * {model.step!r} + {model.shift!r}"
        answer = f'    printf("value: %.9g\\n", {value});'
    return f"""\
{head(model, name)}\
/* Answers one row of the table, then tries the test vectors. */
#include <stdio.h>

#include "{name}.h"
#include "{name}_selftest.h"

/* The middle of every range, in the units of the table. */
static const float values[{m}_N] = {{
{values}
}};

int main(void)
{{
{declare}    unsigned count;

{convert}{answer}
    count = {name}_selftest();
    printf({m}_NAME " " {m}_ID " format %u selftest: %u of %u differ\\n",
           (unsigned){m}_FORMAT, count, (unsigned){m}_VECTORS);
{test}    return count != 0{wrong};
}}
"""


def _board(package: Package) -> str:
    """A program of a chip that tries the test vectors, without any library."""
    m = package.name.upper()
    text = _BOARD.replace("@name@", package.name).replace("@M@", m)
    return head(package.model, package.name) + text


def _makefile(package: Package) -> str:
    """Rules that compile a model, and its self-test."""
    chips = "\n".join(
        f"{chip}:\n\t{tools}-gcc {flags} $(FLAGS) -Os -c $(SOURCES)\n"
        f"\t{tools}-size $(SOURCES:.c=.o)\n"
        for chip, (tools, flags) in _CHIPS.items()
    )
    headers = {n for n in package.sources | package.tests if n.endswith(".h")}
    return _MAKEFILE.format(
        name=package.name,
        flags=FLAGS,
        sources=" ".join(_c_files(package.sources)),
        tests=" ".join(_c_files(package.tests)),
        headers=" ".join(sorted(headers)),
        chips=chips,
        names=" ".join(_CHIPS),
    )


#: Goal of make -> begin of the tools' names, flags.
_CHIPS = {
    "avr": ("avr", "-mmcu=atmega328p"),
    "cortex-m0": ("arm-none-eabi", "-mcpu=cortex-m0 -mthumb"),
    "cortex-m4f": (
        "arm-none-eabi",
        "-mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard",
    ),
}

_MAKEFILE = """\
FLAGS = {flags}
SOURCES = {sources}
TESTS = {tests}

# Compile for this computer and run the self-test.
host: {name}_example
\t./{name}_example

{name}_example: {name}_example.c {headers} $(TESTS) $(SOURCES)
\t$(CC) $(FLAGS) -O2 -o $@ {name}_example.c $(TESTS) $(SOURCES)

# Run the self-test on a simulated chip.
simavr: {name}_board.c {headers} $(TESTS) $(SOURCES)
\tavr-gcc -mmcu=atmega328p $(FLAGS) -Os -o {name}_avr.elf \\
\t    {name}_board.c $(TESTS) $(SOURCES)
\tsimavr -m atmega328p -f 16000000 {name}_avr.elf

qemu: {name}_board.c {headers} $(TESTS) $(SOURCES)
\tarm-none-eabi-gcc -mcpu=cortex-m0 -mthumb -nostartfiles -Wl,-emain -Ttext=0x40 \\
\t    -Tdata=0x20000000 -Wl,--section-start=.vectors=0 $(FLAGS) -Os \\
\t    -o {name}_arm.elf {name}_board.c $(TESTS) $(SOURCES)
\tqemu-system-arm -M mps2-an385 -nographic -semihosting -kernel {name}_arm.elf

# Compile for a chip and print the size: text is flash, data and bss are RAM.
{chips}
clean:
\trm -f {name}_example *.o *.elf

.PHONY: host {names} simavr qemu clean
"""

_BOARD = """\
/* Tries the test vectors on a chip, and tells how many are wrong: an AVR by its first
 * serial port, a Cortex-M by semihosting. */
#include "@name@.h"
#include "@name@_selftest.h"

#ifdef __AVR__
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>

static void say(const char *text)
{
    UBRR0 = 103; /* 9600 baud at 16 MHz */
    UCSR0B = 1 << TXEN0;
    for (; *text; ++text) {
        while (!(UCSR0A & (1 << UDRE0))) {
        }
        UDR0 = (uint8_t)*text;
    }
}

static void end(void)
{
    while (!(UCSR0A & (1 << TXC0))) {
    }
    cli();
    sleep_mode(); /* for ever: simavr ends here */
}
#else
static void call(uintptr_t what, uintptr_t with)
{
    register uintptr_t r0 __asm__("r0") = what;
    register uintptr_t r1 __asm__("r1") = with;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

static void say(const char *text)
{
    call(4, (uintptr_t)text);
}

static void end(void)
{
    call(0x18, 0x20026);
}

int main(void);

/* The first words of a Cortex-M: end of the stack, and where it starts. */
__attribute__((section(".vectors"), used)) static const struct {
    uintptr_t stack;
    int (*start)(void);
} vectors = {0x20004000, main};
#endif

static void number(unsigned value)
{
    char text[6] = {0};
    unsigned place = sizeof text - 1;
    do {
        text[--place] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    say(text + place);
}

int main(void)
{
    say(@M@_NAME " " @M@_ID " format ");
    number(@M@_FORMAT);
    say(" selftest: ");
    number(@name@_selftest());
    say(" of ");
    number(@M@_VECTORS);
    say(" differ\\n");
    end();
    return 0;
}
"""

C99 = Target("Generic C99", _plain_c, _use_plain_c)
PLATFORMIO = Target("PlatformIO library", _platformio, _use_platformio)
ZEPHYR = Target("Zephyr module", _zephyr, _use_zephyr)
CMAKE = Target("CMake library", _cmake, _use_cmake)
