"""Random logs for hypothesis: rows of patches with transactions in order."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from jelly_plugins.codec import (
    Operation,
    OperationKind,
    PatchOptions,
    PatchStatementType,
    PatchStreamType,
    Quad,
)
from jelly_plugins.codec.patch.operations import (
    ABORT,
    BEGIN,
    COMMIT,
    END,
    add_namespace,
    delete_namespace,
    header,
)

from ..codec.strategies import (
    blank_nodes,
    graph_names,
    iris,
    literals,
    text,
    triples,
)


def _statements(quads: bool, generalized: bool, star: bool) -> st.SearchStrategy[Any]:
    plain = triples(generalized, star)
    if not quads:
        return plain
    return st.builds(lambda triple, graph: Quad(*triple, graph), plain, graph_names(generalized))


@st.composite
def logs(
    draw: st.DrawFn, patches: st.SearchStrategy[int] | None = None
) -> tuple[PatchOptions, list[Operation]]:
    """Options, and rows that may be written with them. Headers stand before operations, and at most
    one of them is ``id``."""
    generalized = draw(st.booleans())
    star = draw(st.booleans())
    quads = draw(st.booleans())
    stream_type = draw(st.sampled_from(PatchStreamType))
    options = PatchOptions(
        statement_type=PatchStatementType.QUADS if quads else PatchStatementType.TRIPLES,
        stream_type=stream_type,
        generalized_statements=generalized,
        rdf_star=star,
        # One statement may need many entries if it quotes others.
        max_name_table_size=draw(st.sampled_from([200] if star else [8, 9, 200])),
        max_prefix_table_size=draw(st.sampled_from([0, 1, 2, 150])),
        max_datatype_table_size=draw(st.sampled_from([32] if star or generalized else [1, 2, 32])),
    )
    statements = _statements(quads, generalized, star)
    pool = draw(st.lists(statements, min_size=1, max_size=6))
    changes = st.builds(
        Operation,
        st.sampled_from([OperationKind.ADD, OperationKind.DELETE]),
        st.sampled_from(pool) | statements,
    )
    graphs = graph_names(generalized) if quads else st.none()
    names = st.sampled_from(["", "ex", "é"]) | text
    namespaces = st.builds(add_namespace, names, iris, graphs) | st.builds(
        delete_namespace, names, iris | st.none(), graphs
    )
    operations = st.lists(changes | changes | namespaces, max_size=6)
    values = iris | blank_nodes | literals | (triples(generalized, star) if star else st.nothing())
    headers = st.lists(
        st.builds(header, st.sampled_from(["prev", "", "a key", "label"]) | text, values),
        max_size=2,
    )
    number = draw(patches or st.integers(0, 3))
    if stream_type is PatchStreamType.FLAT:
        number = 1
    elif stream_type is PatchStreamType.FRAME:
        number = max(number, 1)
    rows: list[Operation] = []
    for _ in range(number):
        rows += [each for each in draw(headers) if each.value.key != "id"]
        if draw(st.booleans()):
            rows.append(header("id", draw(values)))
        rows += draw(operations)
        for _ in range(draw(st.integers(0, 2))):
            rows += [BEGIN, *draw(operations), draw(st.sampled_from([COMMIT, ABORT]))]
        rows.append(END)
    return options, rows
