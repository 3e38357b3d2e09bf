"""The page's figures as Plotly objects, without colours of text and background: the page sets those, light or dark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from lean_finder.generation.reward import RewardSettings
from lean_finder.reporting.formatting import interval, metric_label, signed_interval
from lean_finder.reporting.inputs import Study
from lean_finder.reporting.queries import band_counts, band_labels, log_bins, ranks_of, word_counts

#: Told apart on white and on black, and by the common kinds of colour blindness.
PALETTE = ("#5588BB", "#EE7733", "#228833", "#AA3377", "#CCBB44", "#66CCEE", "#EE6677", "#999999")
_BANDS = ("#BBBBBB", "#66CCEE", "#228833", "#EE6677")
_WINDOW = 5  # steps of the running mean
_MOST_WORDS = 24  # longer queries share the last bin

#: Column of the generator's history -> title of its panel.
_PARTS = {
    "reward": "Reward",
    "part_consistency": "Share judged consistent",
    "part_difficulty": "Difficulty (f_rank)",
    "part_length": "Tokens a query",
    "sft_weight": "Weight of the supervised term",
    "entropy": "Entropy (nats a token)",
    "kl": "KL from the start",
}


#: Measure of the probes -> title of its panel.
_PROBED = {
    "reward": "Probe: reward",
    "consistent": "Probe: share judged consistent",
    "hard_and_consistent": "Probe: share consistent and not easy",
}


@dataclass(frozen=True)
class Chart:
    """One figure.

    Attributes:
        key: element id.
        title: heading above it.
        note: one line below the heading; "" for none.
        figure: the Plotly figure.
        height: pixels.
    """

    key: str
    title: str
    note: str
    figure: go.Figure
    height: int = 320


def colours(study: Study) -> dict[str, str]:
    """One colour for each retriever that was trained, in order, round again when they run out."""
    trained = [item.name for item in study.retrievers if item.files.curve is not None]
    return {name: PALETTE[at % len(PALETTE)] for at, name in enumerate(trained)}


def score_chart(results: Mapping[str, Any], benchmark: str, metric: str = "ndcg_at_10") -> Chart | None:
    """Every retriever's figure with its interval."""
    rows = [row for row in results["retrievers"] if benchmark in row["benchmarks"]]
    figures = [row["benchmarks"][benchmark]["strict"][metric] for row in rows]
    if not rows:
        return None
    names = [row["name"] for row in rows]
    figure = _forest(names, figures, [interval(item) for item in figures], metric_label(metric))
    title = f"{metric_label(metric)} on {benchmark}"
    return Chart(f"score-{benchmark}", title, "Mean and 95 % interval", figure, 90 + 34 * len(rows))


def gain_chart(gains: Sequence[Mapping[str, Any]], benchmark: str) -> Chart | None:
    """Every comparison's difference with its interval, and where zero lies."""
    if not gains:
        return None
    names = [f"{row['arm']} over {row['over']}" for row in gains]
    effects = [row["effect"] for row in gains]
    label = metric_label(gains[0]["metric"])
    figure = _forest(names, effects, [signed_interval(item) for item in effects], f"difference in {label}")
    figure.add_vline(x=0, line={"width": 1, "dash": "dot", "color": "#888888"})
    return Chart(f"gain-{benchmark}", f"Gains on {benchmark}", f"Difference in {label}", figure, 90 + 34 * len(gains))


def loss_charts(study: Study) -> list[Chart]:
    """The retrievers' loss and masked share, and the loss of the supervised start."""
    curves = {item.name: pd.DataFrame(item.curve) for item in study.retrievers if item.curve}
    supervised = {item.name: pd.DataFrame(item.supervised) for item in study.retrievers if item.supervised}
    wanted = [
        ("retriever-loss", "Retriever: contrastive loss", curves, "loss"),
        ("retriever-masked", "Retriever: share of negatives masked", curves, "masked_share"),
        ("supervised-loss", "Generator: loss of the supervised start", supervised, "loss"),
    ]
    charts = [_lines(key, title, frames, column, colours(study)) for key, title, frames, column in wanted]
    return [chart for chart in charts if chart is not None]


def generator_charts(study: Study) -> list[Chart]:
    """The reward and its parts over the GRPO steps, one line an arm, and the ranks met, one panel an arm."""
    histories = {item.name: pd.DataFrame(item.history.get("steps", [])) for item in study.arms if item.history}
    charts = [_lines(f"grpo-{column}", title, histories, column, colours(study)) for column, title in _PARTS.items()]
    return [chart for chart in charts if chart is not None]


def probe_charts(study: Study, results: Mapping[str, Any]) -> list[Chart]:
    """Each measure of the probes over the GRPO steps, one line an arm."""
    probes = {row["arm"]: row["probes"] for row in results["generators"] if row.get("probes")}
    colour_of = colours(study)
    charts = []
    for measure, title in _PROBED.items() if probes else ():
        figure = go.Figure()
        for arm, found in probes.items():
            line = {"color": colour_of[arm], "width": 2}
            figure.add_scatter(x=found["steps"], y=found["means"][measure], mode="lines+markers", name=arm, line=line)
        figure.update_xaxes(title="step")
        figure.update_yaxes(rangemode="tozero")
        charts.append(Chart(f"probe-{measure}", title, "Same declarations, same random numbers", figure, 280))
    return charts


def rank_charts(study: Study) -> list[Chart]:
    """Ranks of the kept queries by the previous retriever: shares of the reward's bands, shares in doubling bins."""
    ranks = {item.name: found for item in study.arms if (found := ranks_of(item.queries))}
    if not ranks:
        return []
    note = "Of the kept queries, as the previous retriever ranks their declarations"
    colour_of = colours(study)
    return [
        Chart("rank-bands", "Rank bands of the reward", note, _bands(ranks, study.reward), 130 + 40 * len(ranks)),
        Chart("rank-bins", "Ranks in doubling bins", note, _bins(ranks, colour_of)),
    ]


def _bands(ranks: Mapping[str, Sequence[int]], reward: RewardSettings) -> go.Figure:
    figure = go.Figure()
    counts = {arm: band_counts(found, reward) for arm, found in ranks.items()}
    for (band, label), colour in zip(band_labels(reward).items(), _BANDS, strict=True):
        shares = [100 * counts[arm][band] / len(found) for arm, found in ranks.items()]
        figure.add_bar(y=list(ranks), x=shares, name=label, orientation="h", marker_color=colour)
    figure.update_layout(barmode="stack", xaxis={"title": "% of kept queries", "range": [0, 100]})
    figure.update_layout(legend_traceorder="normal")
    figure.update_yaxes(autorange="reversed", type="category")
    return figure


def _bins(ranks: Mapping[str, Sequence[int]], colour_of: Mapping[str, str]) -> go.Figure:
    figure = go.Figure()
    counts = {arm: log_bins(found) for arm, found in ranks.items()}
    labels = max((list(found) for found in counts.values()), key=len)
    for arm, found in ranks.items():
        shares = [100 * counts[arm].get(label, 0) / len(found) for label in labels]
        figure.add_bar(x=labels, y=shares, name=f"{arm} (n {len(found)})", marker_color=colour_of[arm])
    figure.update_layout(barmode="group", yaxis={"title": "% of kept queries"})
    figure.update_xaxes(title="rank of the target by the previous retriever", type="category")
    return figure


def length_chart(study: Study) -> Chart | None:
    """Words of generated queries against those of people and agents."""
    groups = {str(author): word_counts(rows["query"]) for author, rows in study.style.groupby("author")}
    real = list(groups)
    groups |= {item.name: word_counts(item.queries["query"]) for item in study.arms if item.queries is not None}
    groups = {name: words for name, words in groups.items() if len(words)}
    if not groups:
        return None
    figure = go.Figure()
    colour_of = colours(study)
    ends = list(range(1, _MOST_WORDS + 1))
    for at, (name, words) in enumerate(groups.items()):
        capped = words.clip(lower=1, upper=_MOST_WORDS)
        shares = [100 * float((capped == end).mean()) for end in ends]
        line = {"dash": ("dot", "dash")[at % 2], "color": "#888888"} if name in real else {"color": colour_of[name]}
        label = f"{name} (n {len(words)}, median {words.median():g})"
        figure.add_scatter(x=ends, y=shares, mode="lines", name=label, line=line | {"width": 2})
    figure.update_layout(xaxis={"title": f"words ({_MOST_WORDS} = or more)"}, yaxis={"title": "% of queries"})
    note = "Dotted and dashed: real queries. The paper's medians are 16 (people) and 15 (agents), in tokens."
    return Chart("lengths", "Length of generated and real queries", note, figure)


def judge_chart(results: Mapping[str, Any]) -> Chart | None:
    """What another threshold of the judge would do, and where the one in use lies."""
    judge = results["judge"] or {}
    rows = pd.DataFrame(judge.get("thresholds") or [])
    if "threshold" not in rows:
        return None
    figure = go.Figure()
    for at, column in enumerate(rows.columns.drop("threshold")):
        line = {"color": PALETTE[at % len(PALETTE)], "width": 2}
        label = str(column).replace("_", " ")
        figure.add_scatter(x=rows["threshold"].tolist(), y=rows[column].tolist(), mode="lines", name=label, line=line)
    chosen = judge.get("encoder", {}).get("threshold")
    if chosen is not None:
        figure.add_vline(x=chosen, line={"width": 1, "dash": "dot", "color": "#888888"})
    figure.update_layout(xaxis={"title": "threshold"}, yaxis={"title": "share", "rangemode": "tozero"})
    note = "On the labelled pairs; kept: share of them accepted. Dotted: the threshold in use"
    return Chart("judge-thresholds", "The encoder judge at other thresholds", note, figure)


def _forest(
    names: Sequence[str], figures: Sequence[Mapping[str, float]], texts: Sequence[str], label: str
) -> go.Figure:
    """Points with intervals, first name on top."""
    values = [item["value"] for item in figures]
    figure = go.Figure()
    figure.add_scatter(
        x=values,
        y=list(names),
        mode="markers",
        marker={"size": 9, "color": PALETTE[0]},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [item["high"] - item["value"] for item in figures],
            "arrayminus": [item["value"] - item["low"] for item in figures],
            "color": PALETTE[0],
            "thickness": 1.5,
        },
        customdata=list(texts),
        hovertemplate="%{y}: %{customdata}<extra></extra>",
        showlegend=False,
    )
    figure.update_yaxes(autorange="reversed", type="category")
    figure.update_xaxes(title=label)
    return figure


def _lines(
    key: str, title: str, frames: Mapping[str, pd.DataFrame], column: str, colour_of: Mapping[str, str]
) -> Chart | None:
    """One column over the steps, a line a frame: the values faint, their running mean bold. None if nobody has it."""
    shown = {name: frame for name, frame in frames.items() if {"step", column} <= set(frame.columns)}
    if not shown:
        return None
    figure = go.Figure()
    for name, frame in shown.items():
        rows = frame[["step", column]].dropna()
        steps = rows["step"].astype(int).tolist()
        mean = rows[column].rolling(_WINDOW, min_periods=1, center=True).mean()
        line = {"color": colour_of[name], "width": 2}
        figure.add_scatter(
            x=steps,
            y=rows[column].tolist(),
            mode="lines",
            line=line | {"width": 1},
            opacity=0.35,
            showlegend=False,
            hoverinfo="skip",
            legendgroup=name,
        )
        figure.add_scatter(x=steps, y=mean.tolist(), mode="lines", name=name, line=line, legendgroup=name)
    figure.update_xaxes(title="step")
    figure.update_yaxes(rangemode="tozero")
    return Chart(key, title, f"Bold: mean over {_WINDOW} steps", figure, 280)
