"""Reference pages of the Python package, from its sources: signatures and docstrings.

Nothing is imported, so that the pages can be made before the package is built.
"""

import ast
import re
from pathlib import Path

MODULES = (
    "cycloid", "systems", "cost", "soft", "fluid", "learn", "networks", "gym", "torch", "jax",
)  # fmt: skip

_SPECIAL = re.compile(r"([*_<>#|\[\]])")


class Package:
    """The modules of a folder, parsed when asked for."""

    def __init__(self, folder: Path):
        self.folder, self._trees = folder, {}

    def tree(self, module: str) -> ast.Module:
        """module: "__init__", "soft", "_rollout"."""
        if module not in self._trees:
            self._trees[module] = ast.parse((self.folder / f"{module}.py").read_text())
        return self._trees[module]

    def public(self, module: str) -> list[str]:
        """What __all__ has, in its order."""
        for node in self.tree(module).body:
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
                names = [e.value for e in ast.walk(node.value) if isinstance(e, ast.Constant)]
                return [name for name in names if not name.startswith("_")]
        return []

    def find(self, module: str, name: str):
        """The definition of a name, followed through imports from this package; None if it is a
        module or comes from the compiled part."""
        for node in self.tree(module).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == name:
                return node
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cycloid."):
                source = node.module.removeprefix("cycloid.")
                for alias in node.names:
                    if (alias.asname or alias.name) == name and source != "_core":
                        return self.find(source, alias.name)
        return None


def signature(node: ast.FunctionDef, name: str) -> str:
    """As one would call it; long ones with an argument per line."""
    arguments = ast.unparse(node.args)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    line = f"{name}({arguments}){returns}".replace("self, ", "").replace("(self)", "()")
    if len(line) <= 90:
        return line
    parts, depth, start = [], 0, 0
    inner = line[len(name) + 1 : len(line) - len(returns) - 1]
    for i, letter in enumerate(inner):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append(inner[start:i].strip())
            start = i + 1
    parts.append(inner[start:].strip())
    return f"{name}(\n" + "".join(f"    {p},\n" for p in parts) + f"){returns}"


def prose(docstring: str) -> str:
    """A docstring as Markdown: examples and indented blocks become code, the rest is text."""
    out = []
    for block in re.split(r"\n\s*\n", docstring):
        if not block.strip():
            continue
        if block.lstrip().startswith(">>>") or all(
            line.startswith("    ") for line in block.splitlines()
        ):
            out.append(f"```python\n{block.rstrip()}\n```")
            continue
        pieces = re.split(r"(`[^`]*`)", block)
        text = "".join(p if p.startswith("`") else _SPECIAL.sub(r"\\\1", p) for p in pieces)
        out.append(re.sub(r"\n +", "\n", text))
    return "\n\n".join(out)


def entry(node, name: str, level: int) -> list[str]:
    """Heading, signature, text; of a class its public methods and properties too."""
    doc = ast.get_docstring(node) or ""
    lines = [f"{'#' * level} {name.rpartition('.')[2]}", ""]
    if isinstance(node, ast.FunctionDef):
        shown = signature(node, name)
        if any(getattr(d, "id", "") == "property" for d in node.decorator_list):
            shown = name + (f": {ast.unparse(node.returns)}" if node.returns else "")
        lines += ["```python", shown, "```", ""]
    lines += [prose(doc), ""]
    if isinstance(node, ast.ClassDef):
        fields = [
            f"{n.target.id}: {ast.unparse(n.annotation)}"
            for n in node.body
            if isinstance(n, ast.AnnAssign)
            and isinstance(n.target, ast.Name)
            and not n.target.id.startswith("_")
        ]
        if fields:
            lines += ["```python", *fields, "```", ""]
        for member in node.body:
            if isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
                if ast.get_docstring(member):
                    lines += entry(member, f"{name}.{member.name}", level + 1)
    return lines


def page(package: Package, module: str) -> str:
    """The reference of one public module."""
    source = "__init__" if module == "cycloid" else module
    title = "cycloid" if module == "cycloid" else f"cycloid.{module}"
    lines = [f"# {title}", "", prose(ast.get_docstring(package.tree(source)) or ""), ""]
    names = package.public(source)
    for name in sorted(names, key=lambda n: (n[0].isupper(), n.lower())):
        node = package.find(source, name)
        if node is not None:
            prefix = "cy" if module == "cycloid" else f"cy.{module}"
            lines += entry(node, f"{prefix}.{name}", 2)
    return "\n".join(lines)


def pages(root: Path) -> dict[str, str]:
    """{path in the site: Markdown}"""
    package = Package(root / "python" / "cycloid")
    return {f"reference/python/{module}.md": page(package, module) for module in MODULES}
