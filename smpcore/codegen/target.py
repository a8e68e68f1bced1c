"""What a model can be exported as: one row of a table for each target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from smpcore.codegen.package import Files, Package, zipped
from smpcore.codegen.readme import readme
from smpcore.errors import ExportError

#: Names of number formats -> bits of an integer; None: floats.
NUMBERS = {"float32": None, "int16": 16, "int8": 8}

#: The zero-clause BSD licence: the code belongs to whoever exported it.
_LICENCE = """\
Zero-Clause BSD (0BSD)

Permission to use, copy, modify, and/or distribute this software for any purpose with
or without fee is hereby granted.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES WITH REGARD TO
THIS SOFTWARE INCLUDING ALL IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS. IN NO
EVENT SHALL THE AUTHOR BE LIABLE FOR ANY SPECIAL, DIRECT, INDIRECT, OR CONSEQUENTIAL
DAMAGES OR ANY DAMAGES WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER
IN AN ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF OR IN
CONNECTION WITH THE USE OR PERFORMANCE OF THIS SOFTWARE.
"""


@dataclass(frozen=True)
class Target:
    """A language, a chip's toolchain or a runtime, and its files.

    Parameters
    ----------
    title : str
        What a user calls it.
    files : callable
        Package -> path -> content, without README and licence.
    use : callable
        Package -> Markdown: how the files are tried and used, step by step.
    numbers : tuple of str
        Number formats that it can have.
    in_c : bool
        Whether its users see names of C.
    described : mapping of str to str
        End of a file's name -> what it is, of files that other targets do not have.
    has_probabilities : bool
        Whether its files can give the probability of a class, or an interval.
    """

    title: str
    files: Callable[[Package], Files]
    use: Callable[[Package], str]
    numbers: tuple[str, ...] = tuple(NUMBERS)
    in_c: bool = True
    described: Mapping[str, str] = field(default_factory=dict)
    has_probabilities: bool = True

    def zip(self, package: Package) -> bytes:
        """Pack a model as files of this target.

        Parameters
        ----------
        package : Package

        Returns
        -------
        bytes
            A zip with one folder, the same bytes for the same package.

        Raises
        ------
        ExportError
            If the target has no such numbers, or cannot express the model.
        """
        if package.number not in self.numbers:
            raise ExportError(
                f"number={package.number!r} is no format of {self.title}; choose "
                f"{' or '.join(map(repr, self.numbers))}."
            )
        files = {**self.files(package), "LICENSE": _LICENCE}
        described = {
            path: self.described.get(path.removeprefix(package.name), "")
            for path in (*files, "README.md")
        }
        files["README.md"] = readme(package, self.use(package), described, self.in_c)
        return zipped(files, package.name)
