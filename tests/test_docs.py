"""The code blocks of the documentation run, page by page and in order.

Blocks of one page share a folder and, if they are Python, their names. A block ``text`` directly
after one of code is its output. Other blocks without code (``text``, ``json``, no language) and
those in :data:`NOT_RUN`, which gives the reasons, are not run.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import jelly_plugins
import jelly_plugins.spark.shards
from jelly_plugins import spark
from jelly_plugins.cli.app import app
from jelly_plugins.cli.options import commands, examples
from jelly_plugins.codec import DEFAULT_LIMITS, Limits
from jelly_plugins.rdflib import register

from . import blocks, links
from .cli.command import jelly
from .shared_data import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))
CODE = {"python", "sh"}
#: Start of a block with an installation command, which is checked but not run.
SET_UP = "pip install "

_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")

SERVER = "needs an S3 server: tests/spark/shards/test_buckets.py runs it with one"
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

#: rdflib warns of its own code.
pytestmark = pytest.mark.filterwarnings("ignore:.*(ConjunctiveGraph|default_context).*")


def code_of(page: str) -> list[tuple[str, str]]:
    found = blocks.blocks((DOCS / page).read_text(encoding="utf-8"))
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


@pytest.mark.parametrize("page", [page for page in PAGES if code_of(page)])
def test_blocks_of_a_page_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if page in NEEDS:
        pytest.importorskip(NEEDS[page])
    monkeypatch.chdir(tmp_path)  # for stores with their own threads
    # Readers do not have pyjelly; in this process, an earlier test may have imported it.
    register()
    names: dict[str, object] = {"__name__": "page"}
    shown = blocks.shown_output((DOCS / page).read_text(encoding="utf-8"))
    left_out = []
    for language, text in code_of(page):
        if why := reason(page, text):
            left_out.append(why)
        else:
            output = blocks.run(language, text, names, tmp_path)
            assert text not in shown or blocks.matches(shown[text], output), output
    if len(left_out) == len(code_of(page)):
        pytest.skip(left_out[0])


def test_extras_in_installation_commands_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [
        text
        for page in PAGES
        for _, text in blocks.blocks((DOCS / page).read_text(encoding="utf-8"))
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
        assert found[2] == project["name"]
        assert found[1] == found[3]
        assert set(found[1].split(",")) <= set(project["optional-dependencies"])


@pytest.mark.parametrize(
    "document", ["README.md", "CONTRIBUTING.md", *(f"docs/{p}" for p in PAGES)]
)
def test_relative_links_work_in_a_checkout(document: str) -> None:
    assert links.broken(ROOT / document) == []


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
        text = blocks.without_blocks(path.read_text(encoding="utf-8"))
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
        for language, _ in blocks.blocks((DOCS / page).read_text(encoding="utf-8"))
    }
    assert {language for _, language in languages} <= CODE | {"", "json", "text"}
