"""What a model can be exported as: one row of a table for each target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from smpcore.codegen.names import check_prefix
from smpcore.codegen.package import Files, Package, zipped
from smpcore.codegen.readme import readme
from smpcore.codegen.templates import filled, filled_folder
from smpcore.errors import ExportError

#: Names of number formats -> bits of an integer; None: floats.
NUMBERS = {"float32": None, "int16": 16, "int8": 8}


@dataclass(frozen=True)
class Target:
    """A language, a chip's toolchain or a runtime, and its files.

    Parameters
    ----------
    title : str
        What a user calls it.
    folder : str
        Where its templates are: ``use.md.in``, how the files are tried and used, step
        by step; and ``files``, the texts that differ in words only.
    files : callable
        Package -> path -> content of the other files.
    words : callable
        Package -> the words of the templates.
    numbers : tuple of str
        Number formats that it can have.
    in_c : bool
        Whether its users see names of C.
    has_probabilities : bool
        Whether its files can give the probability of a class, or an interval.
    """

    title: str
    folder: str
    files: Callable[[Package], Files]
    words: Callable[[Package], Mapping[str, str]]
    numbers: tuple[str, ...] = tuple(NUMBERS)
    in_c: bool = True
    has_probabilities: bool = True

    def zip(self, package: Package) -> bytes:
        """Pack a model as files of this target."""
        if package.model.number not in self.numbers:
            raise ExportError(
                f"number={package.model.number!r} is no format of {self.title}; choose "
                f"{' or '.join(map(repr, self.numbers))}."
            )
        if package.stream and not self.in_c:
            raise ExportError(
                f"{self.title} has no stream, only C has: choose another target, or no "
                "stream."
            )
        check_prefix(package.name, self.folder)
        files = self.files(package)  # refuses what this target cannot express
        words = self.words(package)
        files |= filled_folder(f"{self.folder}/files", words)
        files |= filled_folder("shared/files", words)
        use = filled(f"{self.folder}/use.md.in", words)
        files["README.md"] = readme(package, use, (*files, "README.md"), self.in_c)
        return zipped(files, package.name)
