"""From what the command line names to groups of tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.core.data import needed
from benchmarks.pir.hub import HUB_TASKS, hub_task, is_hub_folder, read_hub_folder
from benchmarks.pir.tasks import TASK_FILES, Task, is_task_file, read_task
from perspective_rag import ConfigError, CorpusError

DEMO, FULL = "pir_demo", "pir_full"
"""The folders of the demo and of the rebuilt tasks: what the published tables stand beside."""


@dataclass(frozen=True, slots=True)
class Group:
    """Tasks that are averaged together; ``left_out`` are files beside them that are no tasks."""

    name: str
    tasks: tuple[Task, ...]
    left_out: tuple[str, ...] = ()


def read_group(source: str) -> Group:
    """The tasks of a file, a folder of files or of hub folders, ``hub:TASK`` or ``hub:all``.

    A group is named by its folder, or "hub".
    Raises CorpusError for what cannot be read and for a folder without tasks.
    """
    if source.startswith("hub:"):
        name = source.removeprefix("hub:")
        names = HUB_TASKS if name == "all" else (name,)
        return Group("hub", tuple(hub_task(each) for each in names))
    path = needed(Path(source), "pir")
    if path.is_file():
        return Group(path.resolve().parent.name, (read_task(path),))
    if not path.is_dir():
        raise CorpusError(f"{source} is neither a file nor a folder nor hub:TASK")
    if is_hub_folder(path):
        return Group(path.name, (read_hub_folder(path),))
    tasks, left_out = [], []
    for each in sorted(path.iterdir()):
        if each.is_dir() and is_hub_folder(each):
            tasks.append(read_hub_folder(each))
        elif each.is_file() and is_task_file(each):
            tasks.append(read_task(each))
        elif each.name.endswith(TASK_FILES):
            left_out.append(each.name)
    if not tasks:
        raise CorpusError(f"{source} holds no PIR task ({', '.join(TASK_FILES)} or hub folders)")
    return Group(path.name, tuple(tasks), tuple(left_out))


def read_groups(sources: Sequence[str]) -> list[Group]:
    """The groups of several sources; those of one name are one group.

    Raises ConfigError for a task that is named twice, and what ``read_group`` raises.
    """
    found: dict[str, Group] = {}
    for group in map(read_group, sources):
        known = found.get(group.name, Group(group.name, ()))
        names = [task.name for task in (*known.tasks, *group.tasks)]
        if len(set(names)) < len(names):
            raise ConfigError(f"{group.name} has two tasks of one name: {', '.join(names)}")
        found[group.name] = Group(
            group.name, (*known.tasks, *group.tasks), (*known.left_out, *group.left_out)
        )
    return list(found.values())


def without_labels(groups: Sequence[Group], given: Sequence[str]) -> list[Group]:
    """The groups without the queries named as ``GROUP/TASK=LABEL``.

    Raises ConfigError for another form or an unknown task, CorpusError for an unknown label.
    """
    drop: dict[str, list[str]] = {}
    for each in given:
        name, separator, label = each.partition("=")
        if not separator:
            raise ConfigError(f"--without takes GROUP/TASK=LABEL, got {each!r}")
        drop.setdefault(name, []).append(label)
    known = {f"{group.name}/{task.name}" for group in groups for task in group.tasks}
    if unknown := sorted(set(drop) - known):
        raise ConfigError(f"no task is named {unknown[0]!r}: {', '.join(sorted(known))}")
    return [
        Group(
            group.name,
            tuple(task.without(drop.get(f"{group.name}/{task.name}", ())) for task in group.tasks),
            group.left_out,
        )
        for group in groups
    ]


def first_roots(group: Group, count: int | None) -> Group:
    """The group with the queries of the first ``count`` roots of each task; None: all of them."""
    if count is None:
        return group
    return replace(group, tasks=tuple(task.first_roots(count) for task in group.tasks))
