"""The code blocks of the documentation run, and what documents name exists.

Blocks of one page, or of one section of the README, share a folder and, if they are Python, their
names. A block ``text`` directly after one of code is its output. Other blocks without code
(``text``, ``json``, no language) and those in :data:`NOT_RUN`, with the reason, are not run.
``.ci/run`` runs the two blocks of the README that set up an environment.
"""

from __future__ import annotations

import re
import socket
import sys
import tomllib
from dataclasses import fields
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path
from unittest.mock import MagicMock

import pytest

import jelly_plugins
import jelly_plugins.spark.shards
from jelly_plugins import spark
from jelly_plugins.cli.app import app
from jelly_plugins.cli.options import commands, examples
from jelly_plugins.codec import DEFAULT_LIMITS, Limits
from jelly_plugins.rdflib import register

from . import documents
from .cli.command import jelly
from .shared_data import ROOT

DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PAGES = sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))
CODE = {"python", "sh"}
#: Start of a block with an installation command, which is checked but not run.
SET_UP = "pip install "
#: Start of a block that sets up an environment.
ENVIRONMENT = "python3 -m venv .venv && "

_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")

SERVER = "needs an S3 server"
BENCHMARK = "takes minutes of both processors; tests/bench/test_bench.py runs each job in small"
BROKER = "needs a broker of Kafka: tests/kafka/test_kafka.py runs it with one"

#: Blocks that are not run, by page and first line, with the reason.
NOT_RUN = {
    ("buckets.md", "from jelly_plugins.spark import ShardedStore"): SERVER,
    ("how-to/kafka.md", "from confluent_kafka import"): BROKER,
    ("how-to/kafka.md", "from pyoxigraph import Store"): BROKER,
    ("how-to/kafka.md", "from jelly_plugins.spark import"): BROKER,
    ("sharded-store.md", "python -m tests.bench.spark_store_jobs batches"): BENCHMARK,
}


#: Libraries that blocks import but the extra ``test`` does not install: such blocks are skipped.
HEAVY = ("pyshacl",)

#: Pages whose blocks all need a large library, which an older environment may lack.
NEEDS = {"how-to/spark-delta.md": "deltalake"}

#: The port of servers in pages, and a free one, since several runs of the tests may need it.
PORT = "50123"
with socket.create_server(("127.0.0.1", 0)) as _server:
    FREE_PORT = str(_server.getsockname()[1])

#: rdflib warns of its own code.
pytestmark = pytest.mark.filterwarnings("ignore:.*(ConjunctiveGraph|default_context).*")


def text_of(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8").replace(PORT, FREE_PORT)


def code_of(page: str) -> list[tuple[str, str]]:
    found = documents.blocks(text_of(page))
    return [
        (language, text)
        for language, text in found
        if language in CODE and not text.startswith(SET_UP)
    ]


def reason(page: str, text: str) -> str | None:
    """Return why a block is not run; None if it is run."""
    first = text.partition("\n")[0]
    for module in HEAVY:
        if re.search(rf"^(?:import|from) {module}\b", text, re.MULTILINE) and not find_spec(module):
            return f"{module} is not installed"
    return next(
        (why for (where, line), why in NOT_RUN.items() if where == page and first.startswith(line)),
        None,
    )


@pytest.fixture(scope="module")
def spark_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spark")


def run_blocks(
    blocks: list[tuple[str, str]], names: dict[str, object], document: str, spark_folder: Path
) -> None:
    """Run blocks and compare their output with that in the document."""
    if any("session()" in text for _, text in blocks):
        # The session of the tests of Spark, whose settings are for small data.
        from .spark.conftest import start

        start(spark_folder)
    shown = documents.shown_output(document)
    for language, text in blocks:
        output = documents.run(language, text, names)
        assert text not in shown or documents.matches(shown[text], output), output


@pytest.mark.parametrize("page", [page for page in PAGES if code_of(page)])
def test_blocks_of_a_page_run(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark_folder: Path
) -> None:
    if page in NEEDS:
        pytest.importorskip(NEEDS[page])
    # Readers do not have pyjelly; in this process, an earlier test may have imported it.
    register()
    monkeypatch.chdir(tmp_path)
    reasons = {text: reason(page, text) for _, text in code_of(page)}
    if all(reasons.values()):
        pytest.skip(next(iter(reasons.values())))
    blocks = [(language, text) for language, text in code_of(page) if reasons[text] is None]
    run_blocks(blocks, {"__name__": "page"}, text_of(page), spark_folder)


# The README

#: Text of each section by its heading, and the sections with code.
SECTIONS = dict(re.findall(r"^## (.+)\n((?:(?!^## ).*\n)*)", README, re.MULTILINE))
EXAMPLES = {
    heading: code
    for heading, text in SECTIONS.items()
    if (
        code := [
            (language, block)
            for language, block in documents.blocks(text)
            if language in CODE and not block.startswith(ENVIRONMENT)
        ]
    )
}


@pytest.mark.parametrize("heading", EXAMPLES)
def test_blocks_of_a_section_of_the_readme_run_twice(
    heading: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark_folder: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    extra = re.search(r"^Extra: `(\w+)`", SECTIONS[heading], re.MULTILINE)
    assert extra is not None
    assert extra[1] in PROJECT["optional-dependencies"]
    for _ in range(2):
        run_blocks(EXAMPLES[heading], {"__name__": "readme"}, README, spark_folder)


def test_the_set_up_commands_are_the_ones_that_ci_runs() -> None:
    commands = [line for line in README.splitlines() if line.startswith(ENVIRONMENT)]
    assert [line.rpartition("/")[2] for line in commands] == [
        "jelly demo",
        "python -m pytest -n 3",
    ]


def test_links_are_absolute_in_the_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    # A new environment has no setuptools, or a version too old for the build.
    setuptools = MagicMock()
    monkeypatch.setitem(sys.modules, "setuptools", setuptools)
    monkeypatch.chdir(ROOT)
    run_path("setup.py")
    relative = [link for link in documents.links(README) if not link.startswith(("#", "https:"))]
    assert len(relative) > 15
    absolute = [f"{PROJECT['urls']['Repository']}/blob/main/{link}" for link in relative]
    found = documents.links(setuptools.setup.call_args.kwargs["long_description"])
    assert set(absolute) <= set(found)
    assert all(link.startswith(("#", "https:")) for link in found)


def test_figures_are_those_of_the_documentation() -> None:
    page = (ROOT / "docs" / "figures.md").read_text(encoding="utf-8").splitlines()
    rows = [line for line in SECTIONS["Figures"].splitlines() if line.startswith("|")]
    assert len(rows) > 5
    assert [row for row in rows if row not in page] == []


def test_every_extra_is_documented() -> None:
    page = (ROOT / "docs" / "start" / "index.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `jelly-plugins[")]
    named = {name for row in rows for name in re.findall(r"\[(\w+)\]`", row)}
    assert named | {"jena", "test", "dev", "docs"} == set(PROJECT["optional-dependencies"])


# What documents name


def test_extras_in_installation_commands_exist() -> None:
    lines = [
        text
        for page in PAGES
        for _, text in documents.blocks((DOCS / page).read_text(encoding="utf-8"))
        if text.startswith(SET_UP)
    ]
    assert lines
    for line in lines:
        found = re.fullmatch(
            r"pip install -q '\.\[([\w,]+)\]'(?: [a-z0-9-]+)*"
            r"  # in a checkout; after the first release: '([\w-]+)\[([\w,]+)\]'\n",
            line,
        )
        assert found is not None, line
        assert found[2] == PROJECT["name"]
        assert found[1] == found[3]
        assert set(found[1].split(",")) <= set(PROJECT["optional-dependencies"])


@pytest.mark.parametrize(
    "document", ["README.md", "CONTRIBUTING.md", *(f"docs/{p}" for p in PAGES)]
)
def test_relative_links_work_in_a_checkout(document: str) -> None:
    assert documents.broken(ROOT / document) == []


def test_commands_and_options_in_pages_exist() -> None:
    known = set(commands(app))
    groups = {name.split()[0] for name in known}
    options = {
        option
        for name in known
        for option in re.findall(
            r"(?<![\w-])--[a-z][a-z0-9-]*", jelly(*name.split(), "--help").text
        )
    } | {"--version", "--limit"}
    for path in [*DOCS.rglob("*.md"), ROOT / "README.md"]:
        text = documents.without_blocks(path.read_text(encoding="utf-8"))
        for words in re.findall(r"`jelly ([^`]+)`", text):
            name = re.match(r"[a-z]+(?: [a-z]+)?", words)
            if name is not None:
                first = name[0].split()[0]
                assert name[0] in known or first in known or words == first in groups, words
            assert options.issuperset(_OPTION.findall(words)), words


def test_the_page_of_commands_has_every_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS / "site"))
    page = import_module("command_page").sections()
    for name in commands(app):
        assert f"\n## jelly {name}\n" in page
    for example in examples(commands(app)["convert"]):
        assert f"\n{example}\n" in page
    assert "`--context URL=FILE`\n:   Local file for a remote context" in page


def test_the_reference_has_every_public_name() -> None:
    page = (DOCS / "api" / "jelly_plugins.md").read_text(encoding="utf-8")
    names = re.findall(r"^::: jelly_plugins\.(\w+)$", page, re.MULTILINE)
    assert sorted([*names, "__version__"]) == sorted(jelly_plugins.__all__)

    page = (DOCS / "api" / "spark.md").read_text(encoding="utf-8")
    [members] = re.findall(r"members: \[(.*)\]", page)
    assert {*members.split(", "), *spark.__all__} == {*spark.shards.__all__, *spark.__all__}


def test_the_table_of_limits_is_that_of_the_code() -> None:
    page = (DOCS / "reference" / "limits.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \|", page, re.MULTILINE)
    limits = {field.name: getattr(DEFAULT_LIMITS, field.name) for field in fields(Limits)}
    assert {name: int(value) for name, value in rows} == limits


def test_the_chart_of_sizes_is_that_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS / "site"))
    module = import_module("size_chart")
    page = (DOCS / "figures.md").read_text(encoding="utf-8")
    assert module.chart(page) == (DOCS / "size.svg").read_text(encoding="utf-8")


def test_blocks_that_are_not_run_exist() -> None:
    found = {(page, text) for page in PAGES for _, text in code_of(page)}
    for page, line in NOT_RUN:
        assert any(page == where and text.startswith(line) for where, text in found), (page, line)


def test_every_block_names_its_language_or_is_text() -> None:
    languages = {
        (page, language)
        for page in PAGES
        for language, _ in documents.blocks((DOCS / page).read_text(encoding="utf-8"))
    }
    assert {language for _, language in languages} <= CODE | {"", "json", "text"}


# Files that documents name, and names that they define: `codec/rdf/rules.py:NEXT`,
# `io/streams.py:FrameReader.close`

#: Folders that names of files are relative to.
FOLDERS = (ROOT, ROOT / "jelly_plugins", ROOT / "tests")

_FILE = re.compile(r"(\.?\w[\w./-]*\.(?:c|md|pxi|py|pyi|pyx|proto|sh|toml))(?::([\w.]+))?")
_FOLDER = re.compile(r"\.?\w[\w./-]*/")


def defines(path: Path, name: str) -> bool:
    """Whether a file defines a name: a class, a function, a constant, or a method of a class."""
    return all(
        re.search(
            rf"^\s*(?:async\s+)?(?:def|class)\s+{part}\b"
            rf"|^\s*(?:cdef|cpdef)\b[^=\n]*\b{part}\b"
            rf"|^\s*(?:self\.)?{part}\s*(?::[^=\n]*)?="
            rf"|^\s*{part}\s*\(\)\s*\{{",
            path.read_text(encoding="utf-8"),
            re.MULTILINE,
        )
        for part in name.split(".")
    )


@pytest.mark.parametrize("document", ["CONTRIBUTING.md", "docs/ARCHITECTURE.md"])
def test_names_in_documents_exist(document: str) -> None:
    text = documents.without_blocks((ROOT / document).read_text(encoding="utf-8"))
    named: list[tuple[str, str | None]] = []
    for code in re.findall(r"`([^`\n]+)`", text):
        if found := _FILE.fullmatch(code):
            named.append((found[1], found[2]))
        elif _FOLDER.fullmatch(code):
            named.append((code, None))
    assert named
    missing = [
        (name, definition)
        for name, definition in named
        if not any(
            definition is None or defines(folder / name, definition)
            for folder in FOLDERS
            if (folder / name).exists()
        )
    ]
    assert not missing
