"""The index as a SQLite file: one row a run, a sample, a score, a comparison, tied by foreign keys.

It holds nothing of its own: whoever deletes it loses nothing. Open it with any tool, such as Datasette.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from hylo_eval.errors import EvalError
from hylo_eval.evaluation.comparing.records import record_paths
from hylo_eval.run_index.comparisons import comparison_name, comparison_row, comparison_run_rows, read_comparison
from hylo_eval.run_index.folders import FoundRun, file_identity, fingerprint, index_name, read_run, run_folders
from hylo_eval.run_index.rows import TABLES, mean_rows, run_row, sample_rows, score_rows

INDEX_NAME: Final = "index.db"
INDEX_VERSION: Final = 4
"""Of the tables; an index of another version is made anew."""

_BUSY_SECONDS: Final = 30.0
_MAX_NAMES: Final = 10_000
"""Of each kind; more would be slow to compare with a mistyped one."""
_NEW: Final = ".index.db.new"


@attrs.frozen(kw_only=True)
class Refreshed:
    """What bringing the index up to date did.

    Attributes:
        n_runs: Runs in it now.
        n_read: Of them, those that were new or changed, and so were read.
        n_removed: Runs that are gone.
        n_broken: Runs with a problem.
        n_comparisons: Records of comparisons in it now.
    """

    n_runs: int
    n_read: int
    n_removed: int
    n_broken: int
    n_comparisons: int = 0


class RunIndex:
    """The index of a run root.

    Args:
        connection: A SQLite connection with the tables.
        run_root: The folder it is of.
    """

    def __init__(self, connection: Any, run_root: Path) -> None:
        import sqlite_utils

        self._database: Any = sqlite_utils.Database(connection)
        self._run_root = run_root

    def refresh(self) -> Refreshed:
        """Read the runs and records that are new or changed, and forget those that are gone, each in one transaction.

        Raises:
            EvalError: The run root cannot be listed, or the index cannot be written.
        """
        known = {row["run_id"]: row["fingerprint"] for row in self._database.query("select * from runs")}
        found = {index_name(run): run for run in run_folders(self._run_root)}
        changed = [run for name, run in found.items() if known.get(name) != fingerprint(run)]
        gone = known.keys() - found.keys()
        if changed or gone:
            with self._database.conn:
                for run_id in {*gone, *map(index_name, changed)}:
                    self._forget(run_id)
                for run in changed:
                    self._insert(read_run(run))
        n_comparisons = self._refresh_comparisons()
        broken = next(iter(self._database.query("select count(*) as n from runs where status = 'broken'")))["n"]
        return Refreshed(
            n_runs=len(found), n_read=len(changed), n_removed=len(gone), n_broken=broken, n_comparisons=n_comparisons
        )

    def runs(
        self, *, benchmark: str = "", agent: str = "", status: str = "", since: str = "", until: str = ""
    ) -> list[dict[str, Any]]:
        """Rows of ``runs``, newest first.

        Args:
            benchmark: An id, or a pattern with ``*`` and ``?``; empty for all. Likewise ``agent``.
            agent: A name.
            status: One of :data:`hylo_eval.run_index.folders.RUN_STATUSES`.
            since: ISO 8601 date or time; runs created then or later. Runs of which nobody knows when are left out.
            until: Likewise; runs created before its end (a date means the whole day).
        """
        conditions = {
            "benchmark glob :benchmark": benchmark,
            "agent glob :agent": agent,
            "status = :status": status,
            **_times(since, until),
        }
        given = {"benchmark": benchmark, "agent": agent, "status": status, "since": since, "until": until}
        return self._select("runs", conditions, given, order="created_at desc, run_id desc")

    def episodes(self, name: str) -> list[dict[str, Any]]:
        """Rows of ``samples`` whose episode id or instance key is ``name``, newest run first."""
        return list(
            self._database.query(
                "select samples.* from samples join runs using (run_id) where episode_id = :name or key = :name "
                "order by created_at desc, run_id desc",
                {"name": name},
            )
        )

    def comparisons(
        self, *, run_id: str = "", benchmark: str = "", agent: str = "", since: str = "", until: str = ""
    ) -> list[dict[str, Any]]:
        """Rows of ``comparisons``, newest first, each with the rows of its runs under ``runs``.

        Args:
            run_id: Only those in which this run took part; empty for all.
            benchmark: As in :meth:`runs`; likewise the others.
            agent: Of any run that took part.
            since: When it was made.
            until: Likewise.
        """
        member = "id in (select comparison_id from comparison_runs where {})"
        conditions = {
            member.format("run_id = :run_id"): run_id,
            "benchmark glob :benchmark": benchmark,
            member.format("agent glob :agent"): agent,
            **_times(since, until),
        }
        given = {"run_id": run_id, "benchmark": benchmark, "agent": agent, "since": since, "until": until}
        rows = self._select("comparisons", conditions, given, order="created_at desc, id desc")
        by_position = "select * from comparison_runs where comparison_id = ? order by position"
        return [{**row, "runs": list(self._database.query(by_position, [row["id"]]))} for row in rows]

    def known_names(self) -> list[str]:
        """What an episode, a run or a comparison is called here, for suggestions; of very many, some."""
        names = (
            "select run_id as name from runs",
            "select id as name from comparisons",
            "select distinct key as name from samples",
            "select episode_id as name from samples",
        )
        return [row["name"] for query in names for row in self._database.query(f"{query} limit {_MAX_NAMES}")]

    def _select(
        self, table: str, conditions: Mapping[str, str], given: Mapping[str, str], *, order: str
    ) -> list[dict[str, Any]]:
        asked = [condition for condition, value in conditions.items() if value]
        where = f"where {' and '.join(asked)}" if asked else ""
        query = f"select * from {table} {where} order by {order}"  # noqa: S608 - our own conditions
        # Brackets are no pattern here: names hold them.
        patterns = {name: given[name].replace("[", "[[]") for name in ("benchmark", "agent")}
        return list(self._database.query(query, {**given, **patterns}))

    def _refresh_comparisons(self) -> int:
        known = {row["id"]: row["fingerprint"] for row in self._database.query("select * from comparisons")}
        found = {comparison_name(path): path for path in record_paths(self._run_root)}
        changed = [path for name, path in found.items() if known.get(name) != file_identity(path)]
        gone = known.keys() - found.keys()
        if changed or gone:
            with self._database.conn:
                for name in {*gone, *map(comparison_name, changed)}:
                    self._database.execute("delete from comparison_runs where comparison_id = ?", [name])
                    self._database.execute("delete from comparisons where id = ?", [name])
                for comparison in map(read_comparison, changed):
                    self._insert_rows("comparisons", [comparison_row(comparison)])
                    self._insert_rows("comparison_runs", comparison_run_rows(comparison))
        return len(found)

    def _forget(self, run_id: str) -> None:
        for statement in (
            "delete from scores where sample_id in (select id from samples where run_id = ?)",
            "delete from samples where run_id = ?",
            "delete from means where run_id = ?",
            "delete from runs where run_id = ?",
        ):
            self._database.execute(statement, [run_id])

    def _insert(self, run: FoundRun) -> None:
        self._insert_rows("runs", [run_row(run)])
        if run.log is not None:
            self._insert_rows("samples", sample_rows(index_name(run.folder), run.log))
            self._insert_rows("scores", score_rows(index_name(run.folder), run.log))
        self._insert_rows("means", mean_rows(run))

    def _insert_rows(self, table: str, rows: Iterable[Mapping[str, Any]]) -> None:
        # Plain statements inside the caller's transaction: sqlite-utils commits batch by batch.
        columns = list(TABLES[table][0])
        marks = ", ".join(f":{column}" for column in columns)
        statement = f"insert or replace into {table} ({', '.join(columns)}) values ({marks})"  # noqa: S608 - literals
        self._database.conn.executemany(statement, rows)


def _times(since: str, until: str) -> dict[str, str]:
    """The conditions of a span; a date as its end means the whole day."""
    return {
        "created_at >= :since": since,
        "created_at != '' and substr(created_at, 1, length(:until)) <= :until": until,
    }


@contextlib.contextmanager
def open_index(
    run_root: Path, *, rebuild: bool = False, in_memory_if_unwritable: bool = False
) -> Generator[RunIndex, None, None]:
    """The index of a run root, made where there is none, where it is damaged, or on request.

    Args:
        run_root: The folder of the runs.
        rebuild: Make it anew.
        in_memory_if_unwritable: Where the folder cannot be written, keep the index in memory.

    Raises:
        EvalError: There is no such folder, or the index cannot be written.
    """
    import sqlite3

    if not run_root.is_dir():
        raise EvalError(f"there is no run root {run_root}", fix="--run-root FOLDER, or hylo-eval run")
    path = run_root / INDEX_NAME
    try:
        try:
            if in_memory_if_unwritable and not os.access(run_root, os.W_OK):
                raise PermissionError(None, "is not writable")
            if rebuild or not _usable(path):
                _make(run_root)
            connection = _connect(path)
        except (sqlite3.OperationalError, OSError) as error:
            if not in_memory_if_unwritable:
                raise EvalError(f"cannot write the index {path}: {error}") from error
            connection = _connect(":memory:")
            _create_tables(connection)
        with contextlib.closing(connection):
            yield RunIndex(connection, run_root)
    except sqlite3.DatabaseError as error:
        raise EvalError(f"the index {path} cannot be used: {error}", fix="hylo-eval index --rebuild") from error


def _make(run_root: Path) -> None:
    """A whole index under another name, then under its own: nobody sees half of one."""
    new = run_root / _NEW
    new.unlink(missing_ok=True)
    try:
        with contextlib.closing(_connect(new)) as connection:
            _create_tables(connection)
            RunIndex(connection, run_root).refresh()
        new.replace(run_root / INDEX_NAME)
    finally:
        new.unlink(missing_ok=True)


def _usable(path: Path) -> bool:
    import sqlite3

    if not path.is_file():
        return False
    try:
        with contextlib.closing(_connect(path)) as connection:
            version = connection.execute("pragma user_version").fetchone()[0]
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        return False
    return bool(version == INDEX_VERSION)


def _connect(path: Path | str) -> Any:
    import sqlite3

    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS)
    connection.execute("pragma foreign_keys = on")
    return connection


def _create_tables(connection: Any) -> None:
    import sqlite_utils

    database: Any = sqlite_utils.Database(connection)
    for name, (columns, key, foreign_keys) in TABLES.items():
        table = database[name]
        table.create(dict(columns), pk=key[0] if len(key) == 1 else key, foreign_keys=foreign_keys)
    database["samples"].create_index(["run_id"])
    database["samples"].create_index(["episode_id"])
    database["samples"].create_index(["key"])
    database["runs"].create_index(["benchmark", "created_at"])
    connection.execute(f"pragma user_version = {INDEX_VERSION}")
    connection.commit()
