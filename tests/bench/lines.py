"""How much there is to read: ``python -m tests.bench.lines [FOLDER]``.

Lines of code are those with a token that is neither a comment nor a docstring; lines of
docstrings count blank ones within. The folder may be a checkout of another commit.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Tokens that make no line one of code.
_SILENT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
#: Files in `smpcore` from which code is written, or that are code of a chip or a page.
_TEMPLATES = {".in", ".c", ".h", ".js", ".css", ".ld"}
#: Lines of smpcore, its templates and the pages, at most.
CEILING = 58_500
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def count(source: str) -> tuple[int, int]:
    """Lines of code and of docstrings in a module.

    Parameters
    ----------
    source : str

    Returns
    -------
    tuple of int
    """
    documents: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node) is not None:
            text = node.body[0]
            documents.update(range(text.lineno, text.end_lineno + 1))
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _SILENT:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(code - documents), len(documents)


def counted(paths: list[Path]) -> tuple[int, int]:
    """Sum of `count` over files."""
    each = [count(path.read_text("utf-8")) for path in paths]
    return sum(code for code, _ in each), sum(document for _, document in each)


def main(root: Path) -> None:
    """Print a line for each part, and what the parts have together."""
    product = {
        "smpcore": sorted(root.glob("smpcore/**/*.py")),
        "pages": [root / "app.py", *sorted(root.glob("pages/**/*.py"))],
    }
    n_documents = n_all = 0
    for name, paths in product.items():
        code, documents = counted(paths)
        n_documents, n_all = n_documents + documents, n_all + code
        print(f"{name:<12} {len(paths):>4} files {code:>7,} lines of code")
    templates = [p for p in sorted(root.glob("smpcore/**/*")) if p.suffix in _TEMPLATES]
    n_all += (n_lines := with_text(templates))
    print(f"{'templates':<12} {len(templates):>4} files {n_lines:>7,} lines with text")
    print(f"{'together':<12} {'':>10} {n_all:>7,}, of at most {CEILING:,}")
    print(f"{'docstrings':<12} {'':>10} {n_documents:>7,} lines, of both")
    tests, apart = sorted(root.glob("tests/**/*.py")), ("bench", "attack")
    inside = [path for path in tests if path.relative_to(root).parts[1] not in apart]
    for name, paths in (("tests", tests), ("less bench", inside)):
        code, _ = counted(paths)
        print(f"{name:<12} {len(paths):>4} files {code:>7,} lines of code")
    scripts = sorted(root.glob("assets/**/*.js"))
    n_lines = with_text(scripts)
    print(f"{'JavaScript':<12} {len(scripts):>4} files {n_lines:>7,} lines with text")


def with_text(paths: list[Path]) -> int:
    """Lines of files that are not blank."""
    return sum(
        bool(line.strip())
        for path in paths
        for line in path.read_text("utf-8").splitlines()
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
