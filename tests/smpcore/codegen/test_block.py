"""Parameters apart from code: the answers of constants, and no block that harms."""

import ctypes
import zlib

import numpy as np
import pytest

from smpcore import codegen, export
from smpcore.chips import CHIPS
from smpcore.chips.programs import measure
from smpcore.codegen import Package, compile_model, emit_c99, quantise
from smpcore.codegen.targets.c99.block import emit_block
from smpcore.errors import ExportError
from tests.smpcore.codegen.models import (
    every_kind,
    one_value,
    random_kernel_model,
    random_linear,
)
from tests.smpcore.codegen.toolchain import (
    SANITIZE,
    STRICT,
    contents,
    run,
    unpack,
    write,
)

#: What `mdl_load` gives.
LOADED, SHORT, UNALIGNED, OTHER, DAMAGED, UNSIGNED, WRONG = range(7)
VERIFY = ctypes.CFUNCTYPE(
    ctypes.c_uint8, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p
)


def _made(model):
    return emit_block(model, "mdl", codegen.test_vectors(model, n=16))


def _library(tool, files, folder):
    """Strictly compiled C, to be called from here."""
    folder.mkdir()
    sources = [name for name in files if name.endswith(".c")]
    write(folder, files)
    shared = "-shared", "-fPIC", "-o", "mdl.so"
    run(tool("gcc"), *STRICT, *shared, *sources, cwd=folder)
    return ctypes.CDLL(str(folder / "mdl.so"))


def _scores(library, rows, n):
    found = np.empty((len(rows), n), np.float32)
    for row, scores in zip(rows, found, strict=True):
        library.mdl_scores(
            *(one.ctypes.data_as(ctypes.c_void_p) for one in (row, scores))
        )
    return found


class _Aligned:
    """Bytes at a multiple of 8, which stay as long as they answer."""

    def __init__(self, block):
        self.words = np.zeros(len(block) // 8 + 1, np.uint64)
        self.words.view(np.uint8)[: len(block)] = np.frombuffer(block, np.uint8)
        self.size = len(block)

    def load(self, library, verify=None, by=0):
        at = ctypes.c_void_p(self.words.ctypes.data + by)
        return library.mdl_load(at, ctypes.c_uint32(self.size), verify)


def _signed(block):
    return block[:-4] + zlib.crc32(block[:-4]).to_bytes(4, "little")


@pytest.fixture
def two():
    """Models of one form, the second with other numbers and more terms."""
    models = random_linear(density=0.5), random_linear(density=0.9, seed=1)
    return [compile_model(one) for one in models]


def test_blocks_answer_as_constants_do_bit_by_bit(tool, tmp_path, two):
    """Also that of a retrained model, in the program of the one before it."""
    library = _library(tool, _made(two[0])[0], tmp_path / "block")
    rows = np.random.default_rng(0).normal(size=(2000, 6)).astype(np.float32) * 3
    rows[::7, 2] = np.nan
    held = []
    for place, model in enumerate(two):
        constants = _library(tool, emit_c99(model), tmp_path / f"constants{place}")
        held.append(_Aligned(_made(model)[1]))
        assert held[-1].load(library) == LOADED
        assert library.mdl_loaded() & 0xFFFFFFFF == int(codegen.model_id(model), 16)
        found, wanted = (_scores(one, rows, 3) for one in (library, constants))
        assert found.tobytes() == wanted.tobytes()


def test_a_refused_block_leaves_the_one_before_it(tool, tmp_path, two):
    """Each refusal has its number; rows that come with a block are tried before it."""
    files, good = _made(two[0])
    library = _library(tool, files, tmp_path / "block")
    first = _Aligned(good)
    assert library.mdl_loaded() == 0 and first.load(library) == LOADED
    other = _made(two[1])[1]
    flipped = other[:20] + bytes([other[20] ^ 1]) + other[21:]
    refused = [
        (other[:-4], SHORT),
        (other[:12], SHORT),
        (other + b"\0", SHORT),
        (b"SPM2" + other[4:], OTHER),
        (_made(compile_model(random_linear(n_features=7)))[1], OTHER),
        (flipped, DAMAGED),
        (_signed(flipped), WRONG),
    ]
    for block, reason in refused:
        assert _Aligned(block).load(library) == reason
        assert library.mdl_loaded() & 0xFFFFFFFF == int(codegen.model_id(two[0]), 16)
    assert _Aligned(b"\0" + other).load(library, by=1) == UNALIGNED
    seen = []

    def verify(block, size, signature):
        seen.append((size, ctypes.string_at(signature, 64)))
        return seen[-1][1] == bytes(range(64))

    check = VERIFY(verify)
    assert _Aligned(other + bytes(64)).load(library, check) == UNSIGNED
    signed = _Aligned(other + bytes(range(64)))
    assert signed.load(library, check) == LOADED
    assert seen == [(len(other), bytes(64)), (len(other), bytes(range(64)))]


_FUZZ = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "mdl_block.h"
static uint32_t noise = 1;
static uint32_t draw(uint32_t n)
{
    noise = noise * 1664525U + 1013904223U;
    return (noise >> 8) % n;
}
static void sign(uint8_t *block, uint32_t n)
{
    uint32_t crc = 0xFFFFFFFFU, k, bit;
    for (k = 0; k < n - 4; ++k)
        for (crc ^= block[k], bit = 0; bit < 8; ++bit)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320U : 0);
    crc = ~crc;
    memcpy(block + n - 4, &crc, 4);
}
int main(void)
{
    const uint32_t whole = sizeof mdl_block.bytes;
    unsigned counts[7] = {0};
    uint32_t k, changes, n;
    for (k = 0; k < ROUNDS; ++k) {
        float x[MDL_N] = {1.0f};
        n = draw(4) ? whole : draw(whole + 1);
        uint8_t *block = malloc(n ? n : 1);
        memcpy(block, mdl_block.bytes, n);
        for (changes = draw(4); n && changes; --changes) {
            static const uint8_t hostile[] = {0, 1, 127, 128, 254, 255};
            block[draw(2) ? draw(n) : n - 1 - draw(n < 60 ? n : 60)] = hostile[draw(6)];
        }
        if (n > 20 && draw(2))
            memcpy(block + 12, &n, 4);
        if (n > 4 && draw(4))
            sign(block, n);
        ++counts[mdl_load(block, n, 0)];
        if (mdl_loaded())
            (void)mdl_predict(x);
        if (mdl_load(mdl_block.bytes, whole, 0))
            return 1;
        free(block);
    }
    for (k = 0; k < 7; ++k)
        printf("%u ", counts[k]);
    return 0;
}
"""


def test_hostile_blocks_do_no_harm(tool, tmp_path, two, request):
    files, _ = _made(two[0])
    write(tmp_path, files | {"fuzz.c": _FUZZ.encode()})
    rounds = 2_000_000 if request.config.getoption("--all") else 20_000
    command = [*SANITIZE, f"-DROUNDS={rounds}", "-o", "fuzz", "fuzz.c", "mdl.c"]
    run(tool("gcc"), *command, "mdl_block.c", cwd=tmp_path)
    counts = [int(one) for one in run(tmp_path / "fuzz").split()]
    assert sum(counts) == rounds
    assert min(counts[k] for k in (LOADED, SHORT, OTHER, DAMAGED, WRONG)) > 50


@pytest.mark.parametrize("way", ["host", "simavr", "qemu"])
def test_a_zip_with_a_block_tests_itself(tool, tmp_path, way):
    """It brings the block as a file, which equals the one built in."""
    needs = {"simavr": ["avr-gcc", "simavr"], "qemu": ["qemu-system-arm"]}
    for name in needs.get(way, ["gcc"]):
        tool(name)
    model = compile_model(one_value(random_linear, 6))
    package = Package(model, codegen.test_vectors(model, n=8), "mdl", apart=True)
    packed = codegen.TARGETS["c99"].zip(package)
    unpack(packed, tmp_path)
    built_in = contents(packed)["mdl_block.c"].decode().split("{{")[1]
    block = bytes(map(int, built_in.split("}}")[0].split(",")))
    assert block == contents(packed)["model.bin"]
    said = run("sh", "-c", f"make {way} 2>&1", cwd=tmp_path).decode()
    assert "selftest: 0 of 8 differ" in said


def test_a_block_costs_what_the_page_says(tool, two):
    """Cycles and bytes beyond those of constants, on the simulated chip."""
    tool("avr-gcc")
    rows = codegen.test_vectors(two[0], n=16).rows
    chip = CHIPS["ATmega328P"]
    constants, block = (measure(two[0], rows, chip, apart=it) for it in (False, True))
    assert block.scores.tobytes() == constants.scores.tobytes()
    assert block.counts.max() < 1.04 * constants.counts.max()
    # The functions that check it; a block also has rows that try it.
    assert block.flash - constants.flash < 1_350 + len(_made(two[0])[1])


def test_what_has_no_block_is_refused(two):
    vectors = codegen.test_vectors(two[0])
    for target in set(codegen.TARGETS) - {"c99"}:
        if "float32" in codegen.TARGETS[target].numbers:
            with pytest.raises(ExportError, match="Generic C99 without a stream only"):
                package = Package(two[0], vectors, "mdl", None, apart=True)
                codegen.TARGETS[target].zip(package)
    kernel = random_kernel_model()
    for refused in (compile_model(kernel), quantise(two[0], 8)):
        with pytest.raises(
            ExportError, match="linear prototypes in 32-bit floats only"
        ):
            _made(refused)
    with pytest.raises(ExportError, match="have no probabilities"):
        _made(every_kind()["calibrated", "float32"])
    plain = contents(export(random_linear(), name="mdl"))
    apart = contents(export(random_linear(), name="mdl", apart=True))
    assert {*apart} - {*plain} == {"model.bin", "mdl_block.c", "mdl_block.h"}
