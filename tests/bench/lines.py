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
    n_documents = 0
    for name, paths in product.items():
        code, documents = counted(paths)
        n_documents += documents
        print(f"{name:<12} {len(paths):>4} files {code:>7,} lines of code")
    print(f"{'docstrings':<12} {'':>10} {n_documents:>7,} lines, of both")
    tests = sorted(root.glob("tests/**/*.py"))
    print(f"{'tests':<12} {len(tests):>4} files {counted(tests)[0]:>7,} lines of code")
    scripts = sorted(root.glob("assets/**/*.js"))
    lines = [x for path in scripts for x in path.read_text("utf-8").splitlines() if x]
    print(
        f"{'JavaScript':<12} {len(scripts):>4} files {len(lines):>7,} lines with text"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
