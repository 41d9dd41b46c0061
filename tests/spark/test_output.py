"""Files of many tasks become visible together, or not at all. No Spark."""

from __future__ import annotations

import os
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.local import LocalFileSystem

from jelly_plugins.errors import SourceError
from jelly_plugins.spark.datasource.files import Files
from jelly_plugins.spark.datasource.writing import Output, StreamOutput


def write(output: Output, task: int, data: bytes = b"data") -> str:
    with output.new_file(task, ".jelly") as (name, file):
        file.write(data)
    return name


def visible(folder: Path) -> list[str]:
    return [Path(file.path).name for file in Files().list([str(folder)])]


def hidden(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("_"))


def test_nothing_is_visible_before_all_of_it_is(tmp_path: Path) -> None:
    output = Output(str(tmp_path / "new"))
    names = [write(output, task) for task in (0, 1, 1)]
    assert visible(tmp_path / "new") == []
    # Two attempts at the second task: the job knows which one counts.
    output.publish(names[:2])
    assert visible(tmp_path / "new") == names[:2]
    assert hidden(tmp_path / "new") == ["_SUCCESS"]
    assert [name[:10] for name in names] == ["part-00000", "part-00001", "part-00001"]
    # A job without rows, and one that failed.
    Output(str(tmp_path / "empty")).publish([])
    assert hidden(tmp_path / "empty") == ["_SUCCESS"]
    Output(str(tmp_path / "none")).discard()
    assert not (tmp_path / "none").exists()


def test_append_and_overwrite(tmp_path: Path) -> None:
    (tmp_path / "days").mkdir()
    for name in ("old.jelly", "days/old.jelly"):
        (tmp_path / name).write_bytes(b"old")
    output = Output(str(tmp_path))
    appended = write(output, 0)
    output.publish([appended])
    assert visible(tmp_path) == ["old.jelly", "old.jelly", appended]
    output = Output(str(tmp_path), overwrite=True)
    name = write(output, 0)
    other = Output(str(tmp_path))
    write(other, 0)
    output.publish([name])
    assert visible(tmp_path) == [name]
    # The other job is still running.
    assert hidden(tmp_path) == ["_SUCCESS", f"_temporary-{other.job}"]
    other.discard()
    assert hidden(tmp_path) == ["_SUCCESS"]


@pytest.mark.parametrize("step", range(5))
def test_an_error_while_publishing_is_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    first = Output(str(tmp_path))
    first.publish([write(first, 0, b"old")])
    before = visible(tmp_path)
    output = Output(str(tmp_path), overwrite=True)
    names = [write(output, 0), write(output, 1)]
    steps = 0

    def failing(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            nonlocal steps
            steps += 1
            if steps == step + 1:
                raise OSError("the disk is full")
            return method(*arguments, **named)

        return call

    # Moves of the mark, the old file and the two new ones; then the new mark.
    for name in ("mv", "touch"):
        monkeypatch.setattr(LocalFileSystem, name, failing(getattr(LocalFileSystem, name)))
    with pytest.raises(SourceError, match="cannot be written: the disk is full"):
        output.publish(names)
    monkeypatch.undo()
    assert visible(tmp_path) == before
    output.discard()
    assert hidden(tmp_path) == ["_SUCCESS"]


def killed(work: Callable[[], None], step: int, *steps: tuple[Any, str]) -> int | None:
    """Do some work in another process, which ends before it takes a step.

    :param steps: objects and names of their methods, each call of which is a step.
    :return: the exit code of the process.
    """

    def run() -> None:
        left = iter(range(step))

        def ending(call: Callable[..., Any]) -> Callable[..., Any]:
            def made(*arguments: Any, **named: Any) -> Any:
                if next(left, None) is None:
                    os._exit(9)
                return call(*arguments, **named)

            return made

        for owner, name in steps:
            setattr(owner, name, ending(getattr(owner, name)))
        work()

    process = get_context("fork").Process(target=run)
    process.start()
    process.join()
    return process.exitcode


@pytest.mark.parametrize("step", range(4))
def test_a_driver_that_is_killed_while_publishing_leaves_no_mark(tmp_path: Path, step: int) -> None:
    first = Output(str(tmp_path))
    old = write(first, 0, b"old")
    first.publish([old])
    output = Output(str(tmp_path), overwrite=True)
    names = [write(output, 0), write(output, 1)]
    assert killed(lambda: output.publish(names), step, (LocalFileSystem, "mv")) == 9
    # The mark goes first, the old file next, then the new ones come.
    expected = {0: [old], 1: [old], 2: [], 3: names[:1]}
    assert visible(tmp_path) == expected[step]
    assert (tmp_path / "_SUCCESS").exists() == (step == 0)
    again = Output(str(tmp_path), overwrite=True)
    name = write(again, 0)
    again.publish([name])
    assert visible(tmp_path) == [name]
    assert (tmp_path / "_SUCCESS").exists()


def test_a_task_that_comes_too_late_changes_nothing(tmp_path: Path) -> None:
    output = Output(str(tmp_path))
    with output.new_file(0, ".jelly") as (_, file):
        name = write(output, 0)
        output.publish([name])
        file.write(b"late")
    write(output, 0)
    assert visible(tmp_path) == [name]


# Batches of streams

QUERY = "0f3d2a44-52a5-4b3e-8a11-1d2c3b4a5f66"


def of_stream(folder: Path, batch: int, *, local: bool = True) -> StreamOutput:
    return StreamOutput(str(folder) if local else f"memory://{folder}", QUERY, batch)


def shown(output: StreamOutput) -> list[str]:
    """What readers see, and which file it is of."""
    system, folder = Files().system(output.folder)
    if not system.exists(folder):
        return []
    return [system.cat(file.path).decode() for file in Files().list([output.folder])]


@pytest.mark.parametrize("local", [True, False])
def test_a_batch_is_there_once(tmp_path: Path, local: bool) -> None:
    folder = tmp_path / "out"
    first, second = (of_stream(folder, batch, local=local) for batch in (0, 10))
    names = [write(first, task, f"0-{task}".encode()) for task in (0, 1, 1)]
    assert shown(first) == []
    # Of two attempts at a task one counts.
    first.publish(names[:2])
    assert shown(first) == ["0-0", "0-1"]
    # A driver that was lost gives the batch again, in other files; a batch of no rows is none.
    first.publish([write(first, 0, b"again")])
    of_stream(folder, 1, local=local).publish([])
    second.publish([write(second, 0, b"10-0")])
    # Another query's batch of that number is another batch.
    other = StreamOutput(first.folder, QUERY[::-1], 2)
    other.publish([write(other, 0, b"other")])
    assert shown(first) == ["0-0", "0-1", "other", "10-0"]
    write(first, 0)
    first.discard()
    system, place = Files().system(first.folder)
    system.invalidate_cache()
    assert sorted(str(name).rsplit("/", 1)[1] for name in system.ls(place, detail=False)) == [
        f"batch-0-{QUERY}",
        f"batch-10-{QUERY}",
        f"batch-2-{QUERY[::-1]}",
    ]


@pytest.mark.parametrize("step", range(5))
def test_a_driver_that_is_killed_between_leaves_a_batch_whole_or_none(
    tmp_path: Path, step: int
) -> None:
    folder = tmp_path / "out"
    output = of_stream(folder, 3)
    names = [write(output, task, b"first") for task in range(2)]
    steps = ((LocalFileSystem, "touch"), (LocalFileSystem, "rm"), (os, "rename"))
    assert killed(lambda: output.publish(names), step, *steps) == 9
    # Two files move, a mark is set, the folder gets its name; what is hidden goes last.
    assert shown(output) == (["first"] * 2 if step == 4 else [])
    output.publish([write(output, task, b"again") for task in range(3)])
    assert shown(output) == (["first"] * 2 if step == 4 else ["again"] * 3)
    assert [path.name for path in folder.iterdir()] == [f"batch-3-{QUERY}"]


def test_what_is_there_in_part_is_replaced(tmp_path: Path) -> None:
    output = of_stream(tmp_path / "part", 3, local=False)
    system, folder = Files().system(output.folder)
    system.makedirs(f"{folder}/batch-3-{QUERY}")
    system.pipe(f"{folder}/batch-3-{QUERY}/part-0.jelly", b"in part")
    output.publish([write(output, 0, b"whole")])
    assert shown(output) == ["whole"]
