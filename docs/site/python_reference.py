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
        """What __all__ has, in its order, and what is imported when it is asked for."""
        names = []
        for node in self.tree(module).body:
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
                names += [e.value for e in ast.walk(node.value) if isinstance(e, ast.Constant)]
        names += [alias.name for node in self._on_demand(module) for alias in node.names]
        return [name for name in dict.fromkeys(names) if not name.startswith("_")]

    def _on_demand(self, module: str) -> list[ast.ImportFrom]:
        """Imports under `if TYPE_CHECKING`: a module's __getattr__ makes them."""
        blocks = [
            node.body
            for node in self.tree(module).body
            if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        ]
        return [node for body in blocks for node in body if isinstance(node, ast.ImportFrom)]

    def find(self, module: str, name: str):
        """The definition of a name, followed through imports from this package; None if it is a
        module or comes from elsewhere."""
        for node in [*self.tree(module).body, *self._on_demand(module)]:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == name:
                node.module = module
                return node
            if isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == name:
                return node
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cycloid."):
                source = node.module.removeprefix("cycloid.")
                for alias in node.names:
                    if (alias.asname or alias.name) == name and source != "_core":
                        return self.find(source, alias.name)
        return self.errors().get(name) if module == "__init__" else None

    def errors(self) -> dict[str, ast.ClassDef]:
        """The exceptions of the compiled part, as if they were written in Python."""
        text = (self.folder.parent / "src" / "module.cpp").read_text()
        found = re.findall(r'bind_error<\w+>\(m, "(\w+)", (\S+),((?:\s*"[^"]*")+)\);', text)
        out = {}
        for name, base, doc in found:
            above = base.removeprefix("PyExc_") if base.startswith("PyExc_") else "Error"
            words = "".join(re.findall(r'"([^"]*)"', doc))
            out[name] = ast.parse(f"class {name}({above}):\n    {words!r}").body[0]
            out[name].module = "__init__"
        return out

    def members(self, node: ast.ClassDef) -> list[ast.FunctionDef]:
        """Public methods and properties with a docstring, those of base classes after its own."""
        own = [
            m
            for m in node.body
            if isinstance(m, ast.FunctionDef)
            and not m.name.startswith("_")
            and ast.get_docstring(m)
        ]
        for base in node.bases:
            above = self.find(node.module, base.id) if isinstance(base, ast.Name) else None
            if isinstance(above, ast.ClassDef) and hasattr(above, "module"):
                names = {m.name for m in own}
                own += [m for m in self.members(above) if m.name not in names]
        return own


def fields(node: ast.ClassDef) -> list[str]:
    """Public attributes, of the class and of its __init__: "name: type    # what it is"."""
    start = [n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
    lines = []
    for body in (node.body, *(n.body for n in start)):
        for n, after in zip(body, [*body[1:], None], strict=True):
            if isinstance(n, ast.AnnAssign):
                target, kind = n.target, f": {ast.unparse(n.annotation)}"
            elif isinstance(n, ast.Assign) and body is not node.body:
                target, kind = n.targets[0], ""
            else:
                continue
            is_self = isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self"
            name = target.attr if is_self else getattr(target, "id", "_")
            if name.startswith("_") or (body is not node.body) != is_self:
                continue
            is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            doc = " ".join(str(after.value.value).split()) if is_text else ""
            lines.append(f"{name}{kind}" + (f"    # {doc}" if doc else ""))
    return lines


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


def constructor(node: ast.ClassDef, name: str) -> str:
    """How it is made, where users make it; empty where a function does."""
    start = [n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
    made = r"What `|.*\bmade by `|.*` makes it|.*`\w+` (found|trained)|Runs of all|A band"
    first = " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())
    inner = {"core", "batch", "layout", "draws", "inside"}
    if not start or re.match(made, first) or inner & {a.arg for a in start[0].args.args}:
        return ""
    start[0].returns = None
    return signature(start[0], name)


def entry(package: Package, node, name: str, level: int) -> list[str]:
    """Heading, signature, text; of a class its attributes, methods and properties too."""
    lines = [f"{'#' * level} {name.rpartition('.')[2]}", ""]
    if isinstance(node, ast.AnnAssign):
        return [*lines, "```python", f"{name}: {ast.unparse(node.annotation)}", "```", ""]
    if isinstance(node, ast.FunctionDef):
        shown = signature(node, name)
        if any(getattr(d, "id", "") == "property" for d in node.decorator_list):
            shown = name + (f": {ast.unparse(node.returns)}" if node.returns else "")
        lines += ["```python", shown, "```", ""]
    elif shown := constructor(node, name):
        lines += ["```python", shown, "```", ""]
    lines += [prose(ast.get_docstring(node) or ""), ""]
    if isinstance(node, ast.ClassDef):
        if shown := fields(node):
            lines += ["```python", *shown, "```", ""]
        for member in package.members(node):
            lines += entry(package, member, f"{name}.{member.name}", level + 1)
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
            lines += entry(package, node, f"{prefix}.{name}", 2)
    return "\n".join(lines)


def pages(root: Path) -> dict[str, str]:
    """{path in the site: Markdown}"""
    package = Package(root / "python" / "cycloid")
    return {f"reference/python/{module}.md": page(package, module) for module in MODULES}
