import pytest
from documents import violations

BIBLIOGRAPHY = "@book{Verlet1967,\n}\n@article{HairerLubichWanner2006,\n}\n"
GUIDE = "# Guide\n## What it does, in short\n"


def messages(tree, text, bibliography=BIBLIOGRAPHY):
    root = tree({"docs/references.bib": bibliography, "docs/guide.md": GUIDE, "README.md": text})
    return [str(violation) for violation in violations(root)]


@pytest.mark.parametrize(
    "text",
    [
        "[a](docs/guide.md) and [b](docs/guide.md#what-it-does-in-short)",
        "[a](https://example.org/nothing) [b](#here)\n# Here\n",
        "after Verlet1967 and (HairerLubichWanner2006)",
        "```\n[not a link](nowhere.md)\n```\n and `[no](more.md)`",
    ],
)
def test_true_documents_pass(tree, text):
    assert messages(tree, text) == []


@pytest.mark.parametrize(
    "text, expected",
    [
        ("[a](docs/gone.md)", "README.md:1: docs/gone.md leads nowhere"),
        ("\n![a](docs/gone.png)", "README.md:2: docs/gone.png leads nowhere"),
        ("[a](docs/guide.md#elsewhere)", "no heading 'elsewhere'"),
        ("after Euler1768", "Euler1768 is cited"),
    ],
)
def test_a_dead_link_or_an_unknown_citation_fails(tree, text, expected):
    (message,) = messages(tree, text)
    assert expected in message


def test_a_bibliography_with_a_key_twice_or_of_another_form_fails(tree):
    (message,) = messages(tree, "", BIBLIOGRAPHY + "@book{Verlet1967,\n}\n")
    assert "twice" in message
    (message,) = messages(tree, "", BIBLIOGRAPHY + "@book{verlet67,\n}\n")
    assert "AuthorYear" in message


@pytest.mark.parametrize("page", ["README.md", "docs/a.md"])
def test_a_program_in_a_document_is_one_of_the_examples(tree, page):
    text = "# A\n```cpp\nint main() {\n  return 0;\n}\n```\n"
    kept = {"docs/references.bib": BIBLIOGRAPHY, page: text}
    root = tree(kept | {"examples/a.cpp": "// A.\nint main() {\n  return 0;\n}\n"})
    assert list(violations(root)) == []
    root = tree(kept | {"examples/a.cpp": "int main() {\n}\n"})
    (violation,) = violations(root)
    assert str(violation).startswith(f"{page}:4: ")
