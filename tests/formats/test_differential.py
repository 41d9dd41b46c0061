"""No way to read RDF files loses a statement without an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..shared_data import shared
from .differential import compared

#: rdflib warns inside its own parsers and serializers.
pytestmark = pytest.mark.filterwarnings("ignore:Dataset:DeprecationWarning")

#: A document of each format with relative IRIs, which need a base.
DOCUMENTS = {
    "x.ttl": '<s> <urn:p> <o>, "v"@en, (1 <i>) .',
    "x.trig": '<g> { <s> <urn:p> <o>, "v"@en } <s> <urn:p> [] .',
    "x.rdf": """<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="urn:">
        <r:Description r:about="s"><e:p r:resource="o"/><e:p>v</e:p></r:Description></r:RDF>""",
    "x.jsonld": """{"@id": "s", "@type": "T", "urn:p": [{"@id": "o"}, "v",
        {"@list": [{"@id": "i"}]}],
        "urn:g": {"@id": "urn:in", "@graph": {"@id": "s", "urn:p": 1}}}""",
}


def test_documents_with_relative_iris(tmp_path: Path) -> None:
    for name, text in DOCUMENTS.items():
        (tmp_path / name).write_text(text)
    found = {kind: results for _, kind, results in compared(tmp_path)}
    assert len(found) == 2 * len(DOCUMENTS)
    for kind, results in found.items():
        for each in results:
            assert not each.lost, (kind, each)
            assert (each.statements is None) == ("without" in kind), (kind, each)


def test_json_ld_is_compared_in_yaml_too(tmp_path: Path) -> None:
    (tmp_path / "x.jsonld").write_text(DOCUMENTS["x.jsonld"].replace('"v"', '"1e3", "yes", 1e3'))
    (tmp_path / "y-in.yamlld").write_text("'@context': {p: 'urn:p'}\np: [1, &a x, *a]\n")
    (tmp_path / "y-out.yamlld").write_text("- 'urn:p': [{'@value': 1}, {'@value': x}]\n")
    found = {kind: {each.way: each for each in all_} for _, kind, all_ in compared(tmp_path)}
    [(_, with_base), *_] = [item for item in found.items() if item[0].startswith("jsonld with")]
    assert with_base["yamlld"].statements == with_base["ndjsonld"].statements == 10
    assert found["yamlld with a base, by suite"]["yamlld"].statements == 2
    assert not any(each.lost for ways in found.values() for each in ways.values())


@pytest.mark.parametrize("suite", ["rdf-n-triples", "rdf-n-quads"])
def test_files_of_the_w3c(suite: str) -> None:
    number = 0
    for path, kind, results in compared(shared(f"conformance/w3c/{suite}")):
        number += 1
        for each in results:
            assert not each.lost, (path, kind, each)
    assert number > 40
