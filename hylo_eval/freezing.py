"""Freezing benchmarks: definitions written from an installed simulator, and compared with the ones in use."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hylo_core.benchmark import Benchmark
from hylo_core.refs import load_ref
from hylo_eval.benchmark_changes import Change, changes
from hylo_eval.benchmarks import benchmark_files, dump_benchmark, load_benchmark
from hylo_eval.errors import EvalError, cannot_write
from hylo_eval.families import FAMILIES, FREEZABLE, family_availability
from hylo_eval.suggest import did_you_mean


def frozen_names(name: str) -> tuple[str, ...]:
    """The benchmark ids that a family's name or a benchmark's id stands for.

    Raises:
        EvalError: It is neither, or is written by hand.
    """
    families = {family.name: family.benchmarks for family in FAMILIES if family.freeze}
    if name in FREEZABLE:
        return (name,)
    if name in families:
        return families[name]
    listed = ", ".join(families)
    if name in benchmark_files() or any(family.name == name for family in FAMILIES):
        raise EvalError(
            f"{name!r} is written by hand; only benchmarks of {listed} are frozen from a simulator",
            fix="hylo-eval benchmark show prints it",
        )
    hint = did_you_mean(name, [*families, *FREEZABLE])
    raise EvalError(
        f"nothing called {name!r} can be frozen{hint} (families: {listed})", fix="hylo-eval list benchmarks"
    )


def family_of(name: str) -> str:
    """The family that a name of :func:`frozen_names` is frozen from."""
    return FREEZABLE[name][0] if name in FREEZABLE else name


def freeze_benchmark(benchmark_id: str) -> Benchmark:
    """The definition of a benchmark, from the installed simulator.

    Raises:
        EvalError: The benchmark cannot be frozen, or its simulator is missing.
    """
    if benchmark_id not in FREEZABLE:
        raise EvalError(f"{benchmark_id!r} cannot be frozen", fix="hylo-eval list benchmarks")
    name, ref = FREEZABLE[benchmark_id]
    family = next(family for family in FAMILIES if family.name == name)
    availability = family_availability(family)
    if not availability.usable:
        missing = ", ".join(availability.missing)
        raise EvalError(f"the {name} environments are not installed here ({missing} missing)", fix=availability.fix)
    return load_ref(ref)(benchmark_id)


def compare_with_shipped(frozen: Benchmark) -> tuple[Change, ...]:
    """From the shipped definition to the frozen one.

    Raises:
        EvalError: Nothing of that name is shipped.
    """
    path = benchmark_files().get(frozen.id)
    if path is None:
        raise EvalError(
            f"no file of {frozen.id!r} is shipped to compare with", fix=f"hylo-eval benchmark freeze {frozen.id}"
        )
    return changes(load_benchmark(path), frozen)


def write_frozen(frozen: Sequence[Benchmark], output: Path, *, as_folder: bool) -> list[Path]:
    """Write definitions to a file, or one ``<id>.toml`` each into a folder, which is made.

    Each file is replaced whole: a reader sees the old definition or the new one.

    Raises:
        EvalError: A file cannot be written.
    """
    as_folder = as_folder or output.is_dir()
    written: list[Path] = []
    for benchmark in frozen:
        path = output / f"{benchmark.id}.toml" if as_folder else output
        partial = path.with_name(f".{path.name}.partial")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            partial.write_text(dump_benchmark(benchmark), encoding="utf-8")
            partial.replace(path)
        except OSError as error:
            raise cannot_write(str(path), error) from error
        written.append(path)
    return written
