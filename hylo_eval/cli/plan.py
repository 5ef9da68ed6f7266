"""``hylo-eval plan``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs
import click

from hylo_eval.cli.shared_options import run_root_option_that_says
from hylo_eval.cli.terminal import console, percent
from hylo_eval.errors import EvalError
from hylo_eval.numerals import counted, size_in_points

if TYPE_CHECKING:
    from rich.console import Console

    from hylo_eval.compare.evidence import PairedEvidence
    from hylo_eval.compare.noise import NoiseFloor
    from hylo_eval.compare.power import PairsPlan
    from hylo_eval.evaluation.comparing.pilots import MeasuredNoise, Pilot


@click.command()
@click.option("--effect", type=float, default=None, help="The difference of success rates to be detected: .10.")
@click.option("--discordant", type=float, default=None, help="The share of pairs expected to be discordant: .20.")
@click.option("--pilot", nargs=2, default=None, metavar="RUN RUN", help="Two runs to take that share from.")
@click.option("--noise", nargs=2, default=None, metavar="RUN RUN", help="One agent run twice: the noise floor.")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="One-sided significance level.")
@click.option("--power", type=float, default=0.8, show_default=True, help="Probability to detect it.")
@click.option("--metric", default="success", show_default=True, help="A scorer of 0 and 1, for --pilot and --noise.")
@click.option("--allow", multiple=True, metavar="NAME", help="A difference to accept, by name; repeatable.")
@click.option("--log-only", is_flag=True, help="Believe the logs; read no trace.")
@run_root_option_that_says("Where runs are looked for by id; a noise floor is put on record in comparisons/ in it.")
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output, and nothing else there.")
def plan(**options: Any) -> int:
    """Say how many pairs are needed to detect an effect: exact power of the exact test, no approximation.

    The share of discordant pairs is given, or taken from a pilot. With --noise: how far two runs of one agent differ.
    """
    _require(options)
    noise = _noise(options) if options["noise"] is not None else None
    pilot = _pilot(options) if options["pilot"] is not None else None
    plans = _plans(options, pilot)
    effect: float | None = options["effect"]
    planned = None if noise is None or not plans else noise.floor.for_pairs(next(iter(plans.values())).n_pairs)
    if options["as_json"]:
        click.echo(json.dumps(_document(plans, pilot, noise, planned), indent=2))
        return 0
    out = console()
    if pilot is not None and effect is not None:
        _print_pilot(out, pilot, effect)
    for label, found in plans.items():
        _print_plan(out, found, label)
    if noise is not None:
        _print_noise(out, noise)
    if planned is not None and effect is not None:
        _print_planned(out, planned, effect)
    return 0


def _require(options: Mapping[str, Any]) -> None:
    effect, discordant, pilot, noise = (options[name] for name in ("effect", "discordant", "pilot", "noise"))
    if discordant is not None and pilot is not None:
        raise EvalError("--discordant and --pilot both say how often pairs differ", fix="leave one of them out")
    if effect is None and noise is None:
        raise EvalError("a plan needs --effect, the difference to be detected", fix="--effect .10 --discordant .20")
    if effect is None and (discordant is not None or pilot is not None):
        raise EvalError("--discordant and --pilot change nothing without --effect", fix="--effect .10")
    if effect is not None and discordant is None and pilot is None:
        raise EvalError(
            "a plan needs --discordant, the share of pairs that one side wins",
            fix="take it from an earlier comparison, or from two runs: --pilot RUN RUN",
        )
    if noise is None and pilot is None:
        given = {"--allow": options["allow"], "--log-only": options["log_only"]}
        for name, value in given.items():
            if value:
                raise EvalError(f"{name} changes nothing where no run is read", fix="leave it out")


def _plans(options: Mapping[str, Any], pilot: Pilot | None) -> dict[str, PairsPlan]:
    from hylo_eval.compare.power import plan_pairs

    effect = options["effect"]
    if effect is None:
        return {}
    shares = {"": options["discordant"]}
    if pilot is not None:
        # Fewer discordant pairs than the effect itself cannot be: the effect is made of them.
        shares = {
            "": max(pilot.discordant, effect),
            "with the upper end of the pilot's share": max(pilot.discordant_high, effect),
        }
    return {
        label: plan_pairs(effect=effect, discordant=share, alpha=options["alpha"], power=options["power"])
        for label, share in shares.items()
    }


def _pilot(options: Mapping[str, Any]) -> Pilot:
    from hylo_eval.evaluation.comparing.pilots import measure_pilot

    return measure_pilot(_evidence(options, "pilot"), options["metric"])


def _noise(options: Mapping[str, Any]) -> MeasuredNoise:
    """Measure the noise floor and put it on record, where gates at this split will find it."""
    from hylo_eval.cli.compare import keep_record
    from hylo_eval.evaluation.comparing.pilots import measure_noise
    from hylo_eval.report.documents import noise_document

    evidence = _evidence(options, "noise")
    found = measure_noise(evidence, options["metric"], alpha=options["alpha"])
    keep_record(options["run_root"], noise_document(evidence, found.floor, metric=options["metric"]))
    return found


def _evidence(options: Mapping[str, Any], name: str) -> PairedEvidence:
    from hylo_eval.evaluation.comparing.pilots import read_pair

    traces = not options["log_only"]
    return read_pair(options[name], options["run_root"], allow=options["allow"], traces=traces)


def _document(
    plans: Mapping[str, PairsPlan], pilot: Pilot | None, noise: MeasuredNoise | None, planned: NoiseFloor | None
) -> dict[str, Any]:
    first, *rest = plans.values() or [None]
    document = {} if first is None else attrs.asdict(first)
    if pilot is not None:
        document["pilot"] = attrs.asdict(pilot)
        document["cautious"] = attrs.asdict(rest[0])
    if noise is not None:
        document["noise_floor"] = attrs.asdict(noise.floor)
        document["same_draws"] = noise.same_draws
    if planned is not None and first is not None:
        document["planned_noise_floor"] = attrs.asdict(planned)
        document["effect_against_noise"] = planned.standing(first.effect)
        document["pairs_to_settle"] = planned.pairs_to_settle(first.effect)
    return document


def _print_plan(out: Console, found: PairsPlan, label: str) -> None:
    of = f" ({label}, {percent(found.discordant)})" if label else ""
    out.print(
        f"{counted(found.n_pairs, 'pair')}{of}: power {found.power_at_n_pairs:.4f} at one-sided alpha {found.alpha:g}"
    )
    if found.n_pairs_steady > found.n_pairs and not label:
        out.print(
            f"{counted(found.n_pairs_steady, 'pair')}: from there on the power stays at {found.power:g} or more "
            "(exact power is a saw-tooth); plan with this number when pairs may drop out"
        )


def _print_pilot(out: Console, pilot: Pilot, effect: float) -> None:
    out.print(
        f"pilot: {pilot.table.discordant} of {counted(pilot.table.n_pairs, 'pair')} were discordant, "
        f"{percent(pilot.discordant)}; at most {percent(pilot.discordant_high)} by its 95 % interval"
    )
    if pilot.discordant < effect:
        out.print(
            f"that is less than the effect, which it cannot be: planned with {percent(effect)}, "
            "every discordant pair a win"
        )


def _print_noise(out: Console, noise: MeasuredNoise) -> None:
    from hylo_eval.compare.noise import floor_words

    floor, interval = noise.floor, noise.floor.discordant_interval
    out.print(
        f"noise: two runs of one agent disagree in {floor.discordant} of {counted(floor.n_pairs, 'pair')}, "
        f"{percent(floor.discordant_rate)}; 95 % interval {percent(interval.low)} to {percent(interval.high)}"
    )
    out.print(f"noise floor: {floor_words(floor)}")
    if noise.same_draws:
        out.print(
            "both are the same repetition: the agent was given the same seeds, so what they decide is no part of this "
            "noise; hylo-eval run --replicates 2 gives each run its own"
        )
    if floor.two_sided_p <= 0.05:
        out.print(
            f"warning: the two runs differ more than chance explains (two-sided p = {floor.two_sided_p:.3g}): "
            "something else has changed between them"
        )


def _print_planned(out: Console, planned: NoiseFloor, effect: float) -> None:
    from hylo_eval.compare.noise import floor_words

    out.print(f"noise floor as planned: {floor_words(planned)}")
    standing = planned.standing(effect)
    if standing == "within":
        out.print(
            f"warning: the effect, {size_in_points(effect)}, is within the noise floor: "
            "one agent run twice can differ as much"
        )
    elif standing == "unsettled":
        needed = planned.pairs_to_settle(effect)
        more = "" if needed is None else f"; {needed} pairs that disagree no more often would settle it"
        out.print(
            f"warning: whether the effect, {size_in_points(effect)}, is above the noise rests on too few "
            f"pairs of one agent run twice{more}"
        )
