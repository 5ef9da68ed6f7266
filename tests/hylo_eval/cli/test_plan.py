"""``hylo-eval plan``: pairs needed, exactly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hylo_eval.compare import exact_power, noise_reach, plan_pairs
from tests.runs import edit_manifest, keys, unit, write_run


def test_it_says_how_many_pairs(hylo: Any) -> None:
    """The number has the power asked for and one pair fewer has not, by the exact power itself."""
    found = hylo("plan", "--effect", ".10", "--discordant", ".20", "--alpha", ".05", "--power", ".8", "--json").json
    pairs = found["n_pairs"]
    assert exact_power(pairs, effect=0.1, discordant=0.2, alpha=0.05) == found["power_at_n_pairs"] >= 0.8
    assert exact_power(pairs - 1, effect=0.1, discordant=0.2, alpha=0.05) < 0.8
    # Connor's normal approximation (Biometrics 43:207, 1987): (1.645 sqrt(.2) + .842 sqrt(.2 - .01))**2 / .01.
    assert pairs > (1.6449 * 0.2**0.5 + 0.8416 * 0.19**0.5) ** 2 / 0.01
    text = hylo("plan", "--effect", ".10", "--discordant", ".20").out
    assert text.startswith(f"{pairs} pairs: power ")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--effect", ".3", "--discordant", ".2"],
            "effect: a difference of 30 points needs at least 30.0 % discordant pairs",
        ),
        (["--effect", "0", "--discordant", ".2"], "effect: must be above 0"),
        (["--effect", ".1", "--discordant", ".2", "--power", "1"], "power: must lie in (0, 1), got 1.0"),
        (["--effect", ".1"], "a plan needs --discordant, the share of pairs that one side wins"),
        ([], "a plan needs --effect, the difference to be detected"),
        (["--discordant", ".1"], "a plan needs --effect"),
        (["--effect", ".1", "--discordant", ".2", "--pilot", "a", "b"], "both say how often pairs differ"),
        (["--noise", "a", "b", "--discordant", ".2"], "change nothing without --effect"),
        (["--effect", ".1", "--discordant", ".2", "--log-only"], "--log-only changes nothing where no run is read"),
        (
            ["--effect", ".1", "--discordant", ".2", "--allow", "versions"],
            "--allow changes nothing where no run is read",
        ),
        (["--noise", "a", "b"], "there is no run 'a'"),
    ],
)
def test_what_cannot_be_planned_ends_with_2(hylo: Any, options: list[str], message: str) -> None:
    """With a sentence that names the option."""
    done = hylo("plan", *options)
    assert done.code == 2
    assert message in done.err


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A pilot of twenty pairs with four discordant ones, and an agent that was run twice."""
    write_run(tmp_path, "new", keys(*range(9)), bench=unit(20))
    write_run(tmp_path, "old", keys(*range(5)), bench=unit(20))
    for name, won in (("once", keys(*range(10))), ("again", keys(*range(2, 13)))):
        write_run(tmp_path, name, won, bench=unit(20), manifest={"name": "noisy", "version": "1"})
    return tmp_path


@pytest.fixture
def plan(hylo: Any, root: Path) -> Any:
    """Call ``plan`` with a run root."""
    return lambda *arguments: hylo("plan", *arguments, "--run-root", root)


def test_a_pilot_gives_the_share_of_discordant_pairs(plan: Any) -> None:
    """4 of 20, and a cautious plan with the upper end of its interval, which needs more."""
    found = plan("--effect", ".1", "--pilot", "new", "old", "--json").json
    assert (found["discordant"], found["pilot"]["discordant"]) == (0.2, 0.2)
    # Wilson, 4 of 20: (0.2 + z2/40 + z sqrt(0.16/20 + z2/1600)) / (1 + z2/20) with z = 1.95996.
    assert found["pilot"]["discordant_high"] == pytest.approx(0.41602, abs=1e-5)
    assert found["cautious"]["discordant"] == found["pilot"]["discordant_high"]
    assert found["cautious"]["n_pairs"] > found["n_pairs"]
    text = plan("--effect", ".1", "--pilot", "new", "old").out
    assert "pilot: 4 of 20 pairs were discordant, 20.0 %; at most 41.6 % by its 95 % interval" in text


def test_an_effect_above_the_share_is_planned_with_itself(plan: Any) -> None:
    """A difference of .3 has at least 30 % discordant pairs."""
    done = plan("--effect", ".3", "--pilot", "new", "old")
    assert done.code == 0, done.err
    assert "that is less than the effect, which it cannot be" in done.out
    assert plan("--effect", ".3", "--pilot", "new", "old", "--json").json["discordant"] == 0.3


def test_the_noise_floor_is_measured_and_warned_of(plan: Any) -> None:
    """Two against three of twenty; what that does to twenty pairs, and to as many as are planned."""
    done = plan("--noise", "once", "again", "--effect", ".1", "--discordant", ".2", "--alpha", ".1", "--power", ".6")
    assert done.code == 0, done.err
    assert "two runs of one agent disagree in 5 of 20 pairs, 25.0 %; 95 % interval 8.7 % to 49.1 %" in done.out
    pairs = plan_pairs(effect=0.1, discordant=0.2, alpha=0.1, power=0.6).n_pairs
    measured, planned = (100 * noise_reach(count, discordant=0.25, alpha=0.1) for count in (20, pairs))
    assert (
        f"noise floor: on 20 pairs noise alone reaches {measured:.1f} points with a probability above 0.1" in done.out
    )
    assert f"noise floor as planned: on {pairs} pairs noise alone reaches {planned:.1f} points" in done.out
    assert (
        "warning: whether the effect, 10 points, is above the noise rests on too few pairs of one agent run" in done.out
    )
    loud = plan("--noise", "once", "again", "--effect", ".05", "--discordant", ".05", "--power", ".2")
    assert "warning: the effect, 5 points, is within the noise floor" in loud.out
    found = plan("--noise", "once", "again", "--effect", ".3", "--discordant", ".3", "--json").json
    assert found["noise_floor"]["discordant"] == 5
    assert found["planned_noise_floor"]["compared_pairs"] == found["n_pairs"]
    alone = plan("--noise", "once", "again", "--json").json
    assert set(alone) == {"noise_floor", "same_draws"}


def test_runs_that_agree_everywhere_have_a_floor_of_nothing_and_an_upper_end(hylo: Any, tmp_path: Path) -> None:
    """Agreement is an estimate and no proof, so what cannot be excluded is said apart from it and blocks nothing."""
    for name in ("once", "again"):
        write_run(tmp_path, name, keys(1, 2), bench=unit(20), manifest={"name": "steady", "version": "1"})
    done = hylo("plan", "--noise", "once", "again", "--run-root", tmp_path)
    # Nobody has seen 20 agreements in a row with a probability below 2.5 % while (1 - s)**20 > 0.025: s < 16.8 %.
    assert "disagree in 0 of 20 pairs, 0.0 %; 95 % interval 0.0 % to 16.8 %" in done.out
    assert "on 20 pairs noise alone reaches no difference with a probability above 0.05, and 15.0 points" in done.out
    assert "both are the same repetition: the agent was given the same seeds" in done.out
    [record] = (tmp_path / "comparisons").iterdir()
    assert json.loads(record.read_text())["noise_floor"]["effect"] == 0.0


def test_four_pairs_measure_no_noise(hylo: Any, tmp_path: Path) -> None:
    """Fewer than any significant difference takes; refused with the number, and nothing is put on record."""
    for name in ("once", "again"):
        write_run(tmp_path, name, bench=unit(4), manifest={"name": "steady", "version": "1"})
    done = hylo("plan", "--noise", "once", "again", "--run-root", tmp_path)
    assert done.code == 2
    assert "holds 4 scored pairs, too few to measure noise" in done.err
    assert "run at least 5 instances twice" in done.err
    assert not (tmp_path / "comparisons").exists()


def test_a_gate_at_this_split_knows_the_noise_floor(plan: Any, hylo: Any, root: Path) -> None:
    """Twenty points are what noise alone reaches on twenty pairs of which every fourth differs."""
    plan("--noise", "once", "again")
    [record] = (root / "comparisons").iterdir()
    assert json.loads(record.read_text())["kind"] == "noise"
    done = hylo("gate", "new", "old", "--mode", "improve", "--run-root", root)
    assert noise_reach(20, discordant=0.25) == 0.2
    assert (
        "the difference of +20.0 points is within the noise floor: noisy 1, another agent, run twice disagreed in 5 of 20 "
        "pairs, 95 % interval 8.7 % to 49.1 %; on 20 pairs noise alone reaches 20.0 points with a probability above 0.05"
    ) in done.out
    assert "this one included: 1." in done.out, "an agent that was run twice was no candidate"


def test_two_runs_that_differ_too_much_are_not_noise(hylo: Any, tmp_path: Path) -> None:
    """Ten to none is 2 / 1024: something has changed."""
    for name, won in (("once", keys(*range(10))), ("again", keys())):
        write_run(tmp_path, name, won, bench=unit(12), manifest={"name": "noisy", "version": "1"})
    done = hylo("plan", "--noise", "once", "again", "--run-root", tmp_path)
    assert "warning: the two runs differ more than chance explains (two-sided p = 0.00195)" in done.out


def test_two_agents_have_no_noise_floor(plan: Any, root: Path) -> None:
    """Nor has an agent with other options, nor a run against itself."""
    done = plan("--noise", "new", "old")
    assert done.code == 2
    assert "new and old are not one agent run twice" in done.err
    assert "both sides are the same run" in plan("--noise", "once", "once").err
    edit_manifest(root / "again", lambda manifest: manifest["agent"].update(options={"noise": 1}))
    assert "are not one agent run twice" in plan("--noise", "once", "again").err
    assert not (root / "comparisons").exists()


def test_a_pilot_without_a_scored_pair_plans_nothing(hylo: Any, tmp_path: Path) -> None:
    """With a sentence."""
    for name in ("a", "b"):
        write_run(tmp_path, name, bench=unit(2), broken=keys(0, 1))
    done = hylo("plan", "--effect", ".1", "--pilot", "a", "b", "--run-root", tmp_path)
    assert done.code == 2
    assert "the pilot has no scored pair to plan from" in done.err
