"""Clustered comparisons: the claim about new tasks."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hylo_eval.compare.breakdown import task_of
from hylo_eval.compare.cluster import cluster_compare, cluster_tables
from hylo_eval.compare.mcnemar import exact_mcnemar
from hylo_eval.compare.table import PairTable

tables = st.builds(
    PairTable,
    both_succeeded=st.integers(0, 5),
    candidate_wins=st.integers(0, 5),
    parent_wins=st.integers(0, 5),
    both_failed=st.integers(0, 5),
)


def test_a_worked_example():
    """Leads 3, 1, -1 in three clusters: 3 of the 8 flips reach the observed sum of 3."""
    clusters = {
        "pick": PairTable(candidate_wins=3, both_failed=1),
        "push": PairTable(candidate_wins=2, parent_wins=1),
        "open": PairTable(parent_wins=1, both_succeeded=4),
    }
    found = cluster_compare(clusters)
    # sums of (+-3, +-1, +-1): 5, 3, 3, 1, -1, -3, -3, -5; the observed one is 3.
    assert found.p_value == 3 / 8
    assert found.reverse_p_value == 7 / 8
    assert (found.n_clusters, found.n_pairs, found.scope) == (3, 12, "new tasks")
    assert found.mean_difference == pytest.approx((3 / 4 + 1 / 3 - 1 / 5) / 3)
    z = (3 / 4 + 1 / 3 - 1 / 5) / math.sqrt(9 / 16 + 1 / 9 + 1 / 25)
    assert found.durkalski.z == pytest.approx(z)
    assert found.durkalski.p_value == pytest.approx(0.5 * math.erfc(z / math.sqrt(2)))


def test_one_leaning_task_proves_nothing_about_new_ones():
    """A single task with 50 wins is overwhelming for that task and p = 1/2 for the next one."""
    found = cluster_compare({"pick": PairTable(candidate_wins=50)})
    assert found.p_value == found.smallest_attainable_p == 0.5


@given(st.integers(0, 40), st.integers(0, 40))
@settings(deadline=None)
def test_one_pair_a_cluster_is_mcnemars_test(wins, losses):
    """With clusters of one pair nothing is clustered."""
    clusters = {f"w{i}": PairTable(candidate_wins=1) for i in range(wins)}
    clusters |= {f"l{i}": PairTable(parent_wins=1) for i in range(losses)}
    assert cluster_compare(clusters).p_value == pytest.approx(exact_mcnemar(wins, losses).p_value, rel=1e-14)


@given(st.dictionaries(st.sampled_from("abcdefgh"), tables))
@settings(deadline=None)
def test_swapping_the_sides_mirrors_the_comparison(clusters):
    """Candidate and parent exchanged: p-values change places and the difference changes sign."""
    one = cluster_compare(clusters)
    other = cluster_compare({label: table.mirrored() for label, table in clusters.items()})
    assert (one.p_value, one.reverse_p_value) == (other.reverse_p_value, other.p_value)
    assert one.durkalski.p_value == other.durkalski.reverse_p_value
    assert (one.mean_difference or 0.0) == -(other.mean_difference or 0.0)


def test_without_clusters_nothing_is_shown():
    """Clusters without a scored pair do not count."""
    found = cluster_compare({"pick": PairTable()})
    assert (found.n_clusters, found.mean_difference, found.p_value, found.durkalski.p_value) == (
        0,
        None,
        1.0,
        1.0,
    )


def test_repetitions_are_paired_within_and_clustered_across():
    """Two repetitions of two scenes: each scene is one cluster of two pairs, each task one of four."""
    runs = [
        ({"pick#0": 1.0, "pick#1": 0.0}, {"pick#0": 0.0, "pick#1": 0.0}),
        ({"pick#0": 1.0, "pick#1": None}, {"pick#0": 1.0, "pick#1": 1.0}),
    ]
    by_scene = cluster_tables(runs, lambda key: key)
    assert (by_scene["pick#0"].candidate_wins, by_scene["pick#0"].both_succeeded) == (1, 1)
    assert (by_scene["pick#1"].both_failed, by_scene["pick#1"].n_abstained) == (1, 1)
    by_task = cluster_tables(runs, task_of)
    assert (by_task["pick"].n_pairs, by_task["pick"].n_shared) == (3, 4)
    assert cluster_compare(by_scene).n_clusters == 2
