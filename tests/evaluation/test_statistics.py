"""Guards intervals and tests of significance. Run: pytest tests/evaluation/test_statistics.py"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import false_discovery_control

from lean_finder.evaluation.statistics import bootstrap_means, cluster_sums, holm, paired_randomisation


def _plain_bootstrap(values: np.ndarray, clusters: list[str], resamples: int) -> np.ndarray:
    """The same bootstrap in the obvious words."""
    random = np.random.default_rng(99)
    names = sorted(set(clusters))
    rows = {name: [value for value, cluster in zip(values, clusters, strict=True) if cluster == name] for name in names}
    means = []
    for _ in range(resamples):
        drawn = random.choice(names, len(names))
        means.append(np.mean([value for name in drawn for value in rows[name]]))
    return np.percentile(means, [2.5, 97.5])


def test_interval_agrees_with_a_plain_cluster_bootstrap() -> None:
    random = np.random.default_rng(0)
    clusters = [f"c{place}" for place in random.integers(0, 60, 300)]
    level = {name: random.random() for name in set(clusters)}
    values = np.array([[random.random() < level[name]] for name in clusters], dtype=float)
    interval = bootstrap_means(values, clusters, seed=1, resamples=8000)[0]
    low, high = _plain_bootstrap(values[:, 0], clusters, 4000)
    assert interval.value == pytest.approx(values.mean())
    assert interval.low == pytest.approx(low, abs=0.01) and interval.high == pytest.approx(high, abs=0.01)


def test_clusters_widen_the_interval() -> None:
    values = np.repeat(np.arange(40) % 2, 10)[:, None].astype(float)
    together = bootstrap_means(values, [f"c{place // 10}" for place in range(400)], seed=0)[0]
    apart = bootstrap_means(values, [f"c{place}" for place in range(400)], seed=0)[0]
    assert together.high - together.low > 2.5 * (apart.high - apart.low)


def test_same_seed_same_interval_and_one_cluster_has_no_width() -> None:
    values = np.random.default_rng(0).random((30, 2))
    clusters = [f"c{place % 7}" for place in range(30)]
    assert bootstrap_means(values, clusters, seed=3) == bootstrap_means(values, clusters, seed=3)
    assert bootstrap_means(values, clusters, seed=3) != bootstrap_means(values, clusters, seed=4)
    single = bootstrap_means(values, ["c"] * 30, seed=3)[0]
    assert single.low == pytest.approx(single.value) and single.high == pytest.approx(single.value)


def test_randomisation_agrees_with_all_sign_flips() -> None:
    random = np.random.default_rng(2)
    clusters = [f"c{place // 3}" for place in range(30)]
    differences = random.normal(0.25, 1.0, (30, 1))
    sums, _ = cluster_sums(differences, clusters)
    observed = abs(sums.sum())
    flips = [abs((np.array(signs) * sums[:, 0]).sum()) >= observed - 1e-12 for signs in product((-1, 1), repeat=10)]
    p = paired_randomisation(differences, clusters, seed=0, flips=20_000)[0]
    assert p == pytest.approx(np.mean(flips), abs=0.012)


def test_no_difference_has_p_one_and_a_clear_one_is_small() -> None:
    clusters = [f"c{place}" for place in range(100)]
    assert paired_randomisation(np.zeros((100, 1)), clusters, seed=0, flips=500)[0] == 1.0
    assert paired_randomisation(np.ones((100, 1)), clusters, seed=0, flips=999)[0] == pytest.approx(0.001)


def test_holm_by_hand() -> None:
    # Sorted .01 .02 .03 .04 times 4 3 2 1 = .04 .06 .06 .04, made non-decreasing.
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([]) == []
    # Never below Benjamini-Hochberg, which controls less.
    p_values = np.random.default_rng(0).random(20)
    assert (np.array(holm(p_values.tolist())) >= false_discovery_control(p_values) - 1e-12).all()


def test_wrong_shapes_are_a_defect() -> None:
    with pytest.raises(ValueError, match="clusters"):
        bootstrap_means(np.zeros((3, 1)), ["a", "b"], seed=0)
    with pytest.raises(ValueError, match="at least one"):
        bootstrap_means(np.zeros((0, 1)), [], seed=0)
