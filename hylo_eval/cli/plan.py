"""``hylo-eval plan``."""

from __future__ import annotations

import json

import attrs
import click

from hylo_eval.cli.terminal import console


@click.command()
@click.option("--effect", type=float, required=True, help="The difference of success rates to be detected: .10.")
@click.option("--discordant", type=float, required=True, help="The share of pairs expected to be discordant: .20.")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="One-sided significance level.")
@click.option("--power", type=float, default=0.8, show_default=True, help="Probability to detect it.")
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output, and nothing else there.")
def plan(*, effect: float, discordant: float, alpha: float, power: float, as_json: bool) -> int:
    """Say how many pairs are needed to detect an effect: exact power of the exact test, no approximation."""
    from hylo_eval.compare.power import plan_pairs

    found = plan_pairs(effect=effect, discordant=discordant, alpha=alpha, power=power)
    if as_json:
        click.echo(json.dumps(attrs.asdict(found), indent=2))
        return 0
    out = console()
    out.print(f"{found.n_pairs} pairs: power {found.power_at_n_pairs:.4f} at one-sided alpha {alpha:g}")
    if found.n_pairs_steady > found.n_pairs:
        out.print(
            f"{found.n_pairs_steady} pairs: from there on the power stays at {power:g} or more "
            "(exact power is a saw-tooth); plan with this number when pairs may drop out"
        )
    return 0
