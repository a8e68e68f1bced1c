"""Libraries keep the rules of those who take them in: Arduino, PlatformIO, Zephyr.

None of their tools is needed. The rules are those of arduino-lint (names of its rule
functions), of PlatformIO Core 6.2 and of Zephyr's module metadata.
"""

import json
import re

import pytest

from smpcore import codegen
from smpcore.codegen import quantise
from tests.smpcore.codegen.zips import bundle, unpack

#: Longest names: of a model, and the default for a long name of a data set.
NAMES = ["mdl", "iris_2", "a" * 14]


@pytest.fixture(params=["float32", "int8"])
def model(mixed_model, request):
    return mixed_model if request.param == "float32" else quantise(mixed_model, 8)


def _library(model, folder, target, name="mdl"):
    unpack(bundle(model, codegen.test_vectors(model, n=8), name, target), folder / name)
    return folder / name


def _properties(library):
    text = (library / "library.properties").read_text()
    return dict(line.split("=", 1) for line in text.splitlines())


def _files(library):
    paths = library.rglob("*")
    return [path.relative_to(library) for path in paths if path.is_file()]


def _examples(library):
    return [p for p in _files(library) if p.parts[0] == "examples"]


_FIELDS = (
    *("name", "version", "author", "maintainer", "sentence", "paragraph"),
    *("category", "url", "architectures"),
)
_CATEGORIES = (
    *("Display", "Communication", "Signal Input/Output", "Sensors", "Device Control"),
    *("Timing", "Data Storage", "Data Processing", "Other"),
)
_VERSION = r"(0|[1-9]\d*)(\.(0|[1-9]\d*)){0,2}"

#: Rule of arduino-lint -> whether a library, with these properties, keeps it.
ARDUINO = {
    "LibraryInvalid": lambda lib, p: any(lib.glob("src/*.h")),
    "LibraryFolderNameGTMaxLength": lambda lib, p: len(lib.name) <= 63,
    "ProhibitedCharactersInLibraryFolderName": lambda lib, p: re.fullmatch(
        r"[A-Za-z0-9][A-Za-z0-9_.-]*", lib.name
    ),
    "LibraryContainsSymlinks": lambda lib, p: (
        not any((lib / path).is_symlink() for path in _files(lib))
    ),
    "LibraryHasDotDevelopmentFile": lambda lib, p: (
        not any(path.name.startswith(".") for path in _files(lib))
    ),
    "LibraryHasExe": lambda lib, p: (
        not any(path.suffix == ".exe" for path in _files(lib))
    ),
    "LibraryPropertiesNameFieldHeaderMismatch": lambda lib, p: (
        lib / f"src/{p['name']}.h"
    ).is_file(),
    "IncorrectLibrarySrcFolderNameCase": lambda lib, p: (
        {path.parts[0] for path in _files(lib) if len(path.parts) > 1}
        == {"src", "extras", "examples"}
    ),
    "RedundantLibraryProperties": lambda lib, p: (
        [str(path) for path in _files(lib) if "properties" in path.name.lower()]
        == ["library.properties"]
    ),
    "LibraryPropertiesFieldMissing": lambda lib, p: set(_FIELDS) <= set(p),
    "LibraryPropertiesFieldLTMinLength": lambda lib, p: all(
        len(p[field]) >= 1 for field in _FIELDS
    ),
    "LibraryPropertiesNameFieldGTRecommendedLength": lambda lib, p: (
        len(p["name"]) <= 16
    ),
    "LibraryPropertiesNameFieldDisallowedCharacters": lambda lib, p: re.fullmatch(
        r"[A-Za-z0-9][A-Za-z0-9 _.-]*", p["name"]
    ),
    "LibraryPropertiesNameFieldContainsArduino": lambda lib, p: (
        "arduino" not in p["name"].lower()
    ),
    "LibraryPropertiesNameFieldHasSpaces": lambda lib, p: " " not in p["name"],
    "LibraryPropertiesNameFieldContainsLibrary": lambda lib, p: (
        "library" not in p["name"].lower()
    ),
    "LibraryPropertiesVersionFieldNonSemver": lambda lib, p: re.fullmatch(
        _VERSION, p["version"]
    ),
    "LibraryPropertiesMaintainerFieldStartsWithArduino": lambda lib, p: (
        "arduino" not in p["maintainer"].lower()
    ),
    "LibraryPropertiesEmailFieldAsMaintainerAlias": lambda lib, p: "email" not in p,
    "LibraryPropertiesParagraphFieldRepeatsSentence": lambda lib, p: (
        p["sentence"] not in p["paragraph"]
    ),
    "LibraryPropertiesCategoryFieldInvalid": lambda lib, p: (
        p["category"] in _CATEGORIES
    ),
    "LibraryPropertiesUrlFieldInvalid": lambda lib, p: re.fullmatch(
        r"https?://[a-z.]+/\S*", p["url"]
    ),
    "LibraryPropertiesArchitecturesFieldAlias": lambda lib, p: (
        p["architectures"] == "*"
    ),
    "LibraryPropertiesIncludesFieldItemNotFound": lambda lib, p: all(
        (lib / "src" / header).is_file() for header in p["includes"].split(",")
    ),
    "LibraryPropertiesMisspelledOptionalField": lambda lib, p: (
        set(p) <= {*_FIELDS, "includes"}
    ),
    "ExamplesFolderNameCase": lambda lib, p: len(_examples(lib)) == 2,
    "PdeSketchExtension": lambda lib, p: all(
        path.suffix == ".ino" for path in _examples(lib)
    ),
    "SketchNameMismatch": lambda lib, p: all(
        path.stem == path.parent.name for path in _examples(lib)
    ),
    "IncorrectArduinoDotHFileNameCase": lambda lib, p: (
        not re.search(
            r"#include [<\"](?!Arduino\.h)(?i:arduino\.h)",
            "".join((lib / path).read_text() for path in _files(lib)),
        )
    ),
    "LicenseFileMissing": lambda lib, p: (lib / "LICENSE").is_file(),
    "ReadmeMissing": lambda lib, p: (lib / "README.md").is_file(),
}


@pytest.mark.parametrize("name", NAMES)
def test_an_arduino_library_keeps_the_rules(model, tmp_path, name):
    library = _library(model, tmp_path, "arduino", name)
    told = _properties(library)
    assert [rule for rule, keeps in ARDUINO.items() if not keeps(library, told)] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_manifest_is_as_platformio_validates_it(model, tmp_path, name):
    library = _library(model, tmp_path, "platformio", name)
    told = json.loads((library / "library.json").read_text())
    assert re.fullmatch(r"[^:;/,@<>]{1,100}", told["name"])
    assert re.fullmatch(_VERSION, told["version"]) and "." in told["version"]
    assert 1 <= len(told["description"]) <= 1000
    assert told["license"] == "0BSD"  # of the SPDX list, which it downloads
    for word in told["keywords"].split(","):
        assert re.fullmatch(r"[a-z\d\-_+. ]{1,50}", word.strip())
    for field in ("platforms", "frameworks"):
        assert re.fullmatch(r"([a-z\d\-_]+|\*){1,50}", told[field])
    sources = library / told["build"]["srcDir"]
    assert (sources / told["headers"]).is_file()
    assert set(told) <= {
        *("name", "version", "description", "keywords", "license", "frameworks"),
        *("platforms", "headers", "build"),
    }
