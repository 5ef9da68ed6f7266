"""Whether failures to start or to collect are the candidate's, the task's or nobody's."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from hylo_eval.verify.file_ops.reading import UnreadableFile, relative_components
from hylo_eval.verify.file_ops.resources import resource_file
from hylo_eval.verify.file_ops.walking import files_matching
from hylo_eval.verify.pytest_runs.messages import Failure, FailureKind
from hylo_eval.verify.verdict import InvalidTask

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hylo_eval.verify.modes.grader import GradingContext
    from hylo_eval.verify.specs.suites import PytestSpec


def trusted_files(spec: PytestSpec, context: GradingContext) -> frozenset[Path]:
    """The files of the workspace that are the task's: restored by the grader or by the task's setup.

    Raises:
        InvalidTask: A manifest is missing, is no text, or names a path outside the workspace.
    """
    trusted: set[Path] = set()
    for entry in spec.restore:
        source = context.tests_dir / entry
        files = [source] if source.is_file() else [path for path in source.rglob("*") if path.is_file()]
        trusted.update(context.workspace / path.relative_to(context.tests_dir) for path in files)
    for manifest in spec.protected_paths_files:
        path = resource_file(context.tests_dir, manifest, what="protected paths file")
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError as error:
            raise InvalidTask(f"protected paths file {manifest!r:.200} is not UTF-8 text") from error
        for line in filter(str.strip, lines):
            trusted.update(_protected_files(line, context.workspace))
    return frozenset(_absolute(path) for path in trusted)


def _protected_files(entry: str, workspace: Path) -> Iterable[Path]:
    try:
        path = workspace.joinpath(*relative_components(entry))
    except UnreadableFile as error:
        raise InvalidTask(f"protected path {entry!r:.200} must stay inside the workspace") from error
    return [path / name for name in files_matching(path, "**/*")] if path.is_dir() else [path]


def _absolute(path: Path) -> Path:
    """The path without ``..``, its links kept: a link is the business of whoever planted it."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow links


def _resolved(path: Path) -> Path:
    """The path with its links followed, or as it is: the candidate may have named it, and made it a loop."""
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):
        return _absolute(path)


def _is_file(path: Path) -> bool:
    """Whether there is a file or a link; also for names that no file can have."""
    try:
        return path.is_symlink() or path.is_file()
    except (OSError, ValueError):
        return False


@attrs.frozen(kw_only=True)
class Attribution:
    """Who may be blamed for a failure in a workspace.

    Attributes:
        workspace: The candidate's folder.
        trusted: The files in it that are the task's.
        candidate_modules: Modules that the candidate was asked to write.
    """

    workspace: Path
    trusted: frozenset[Path]
    candidate_modules: tuple[str, ...]

    def untrusted_conftests(self) -> tuple[Path, ...]:
        """Where a ``conftest.py`` beside or above trusted files would be the candidate's; mostly there is none."""
        folders = {folder for file in self.trusted for folder in file.parents if folder.is_relative_to(self.workspace)}
        return tuple(file for folder in folders if (file := folder / "conftest.py") not in self.trusted)

    def candidate_files(self, failures: Sequence[Failure]) -> list[str]:
        """The candidate's files and modules behind all the failures; empty if any came from elsewhere."""
        blamed: set[str] = set()
        for failure in failures:
            files = self._blamed_by(failure)
            if not files:
                return []
            blamed |= files
        return sorted(blamed)

    def _blamed_by(self, failure: Failure) -> set[str]:
        match failure.kind:
            case FailureKind.INTERRUPT:
                return set()
            case FailureKind.DEPENDENCY:
                return self._requested(failure) or self._incomplete_package(failure.missing_module)
            case FailureKind.IMPORT:
                return self._requested(failure) or self._editable(failure.filename)
            case FailureKind.ERROR:
                module = self._editable(failure.module_file)
                return module or self._editable(failure.filename)

    def _requested(self, failure: Failure) -> set[str]:
        """The modules that the candidate was asked to write and that are, or are part of, the missing one."""
        missing = failure.missing_module
        if not missing:
            return set()
        return {
            module.removeprefix(f"{self.workspace.name}.").replace(".", "/")
            for module in self.candidate_modules
            if missing == module or missing.startswith(f"{module}.") or module.startswith(f"{missing}.")
        }

    def _incomplete_package(self, missing_module: str) -> set[str]:
        """The editable package that lacks a submodule; an absent top-level module could be anybody's."""
        package, separator, _ = missing_module.partition(".")
        return self._editable(f"{package}/__init__.py") if separator else set()

    def _editable(self, filename: str) -> set[str]:
        """The file relative to the workspace, if it lies there and is not the task's.

        A link in the workspace counts as a file of the workspace, wherever it leads: the candidate planted
        it.
        """
        if not filename:
            return set()
        roots = {_absolute(self.workspace), _resolved(self.workspace)}
        path = _absolute(self.workspace / filename)
        trusted = {*self.trusted, *map(_resolved, self.trusted)}
        if path in trusted or _resolved(path) in trusted or not _is_file(path):
            return set()
        return {str(path.relative_to(root)) for root in roots if path.is_relative_to(root)}


def missing_test_dependencies(failures: Sequence[Failure], paths: Iterable[str], workspace: Path) -> list[str]:
    """The absent modules that the collected test files import; empty if anything else failed too."""
    tests = {_resolved(workspace / path) for path in paths}
    for failure in failures:
        if failure.kind is not FailureKind.DEPENDENCY or not failure.filename:
            return []
        if _resolved(workspace / failure.filename) not in tests:
            return []
    return sorted({failure.missing_module for failure in failures if failure.missing_module})
