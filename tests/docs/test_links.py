"""What pages name is there: files of the repository, pages in the navigation, links from outside."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
CONFIG = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
SITE = re.search(r"^site_url: (\S+)", CONFIG, re.MULTILINE)[1]
REPOSITORY = "https://github.com/perspective-rag/perspective-rag"
WRITTEN = [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
_FOLDERS = "addons|deploy|docs|examples|perspective_rag|benchmarks|tests|integrations"


def test_every_page_is_in_the_navigation_once():
    named = re.findall(r"[\w-]+(?:/[\w-]+)*\.md", CONFIG)
    assert sorted(named) == [str(page.relative_to(DOCS)) for page in PAGES]


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_file_it_names_is_there(page):
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(rf"`((?:{_FOLDERS})/[\w/.*-]+)`", text))
    missing = [
        name
        for name in named
        if not (any(ROOT.glob(name)) if "*" in name else (ROOT / name).exists())
    ]
    assert not missing


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_the_repository_or_the_site_leads_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for kind, path in re.findall(rf"{REPOSITORY}/(blob|tree)/main/([\w/.-]+)", text):
        found = ROOT / path
        assert found.is_file() if kind == "blob" else found.is_dir(), path
    raw = REPOSITORY.replace("github.com", "raw.githubusercontent.com")
    for path in re.findall(rf"{raw}/main/([\w/.-]+)", text):
        assert (ROOT / path).is_file(), path
    for path in re.findall(rf"{SITE}([\w/-]*)", text):
        name = path.strip("/")
        assert (DOCS / f"{name or 'index'}.md").is_file() or (DOCS / name / "index.md").is_file(), (
            path
        )


def test_links_and_pictures_of_the_readme_are_absolute():
    """It is shown on the package index too, where relative ones lead nowhere."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert not [link for link in re.findall(r"\]\(([^)]+)\)", text) if "://" not in link]


def test_paths_of_this_machine_are_nowhere():
    for page in WRITTEN:
        assert str(Path.home()) not in page.read_text(encoding="utf-8"), page


def test_the_site_asks_no_other_host():
    """By its configuration, and page by page where it was built."""
    assert re.search(r"^  font: false$", CONFIG, re.MULTILINE)
    assert not re.search(r"^repo_url:", CONFIG, re.MULTILINE)
    assert not re.search(r"^extra_(?:css|javascript):", CONFIG, re.MULTILINE)
    loaded = re.compile(
        r"<(?:script|img|iframe|source)\b[^>]*\bsrc=[\"']?(?:https?:)?//[^\"'> ]+"
        r"|<link\b[^>]*\brel=[\"']?(?:stylesheet|preconnect|preload|icon)[^>]*href=[\"']?(?:https?:)?//[^\"'> ]+"
    )
    asked = {
        found.group()
        for page in (ROOT / "site").rglob("*.html")
        for found in loaded.finditer(page.read_text(encoding="utf-8"))
    }
    assert not asked


def test_the_readme_is_short_and_loads_no_badge_of_another_host():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 120
    pictures = re.findall(r"!\[[^\]]*\]\((\S+?)\)|<img[^>]+src=.(\S+)", text)
    own = "https://raw.githubusercontent.com/perspective-rag/perspective-rag/"
    assert all((one or two).startswith(own) for one, two in pictures)
