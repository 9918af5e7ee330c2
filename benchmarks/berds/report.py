"""The papers' tables from a run's figures, the published rows beside the measured ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.berds import published
from benchmarks.berds.scoring import AVERAGE
from benchmarks.core.table import Table

Figures = Mapping[str, Any]


def percent(values: Mapping[str, float] | None) -> str:
    """A mean in percent with its interval."""
    if values is None:
        return "-"
    return f"{_hundred(values['mean'])} [{_hundred(values['low'])}, {_hundred(values['high'])}]"


def tables(figures: Figures) -> list[Table]:
    """All tables of a run."""
    made = [base(figures, 5), base(figures, 10), approaches(figures), standard(figures)]
    made += [sizes(figures), union(figures), outcomes(figures), leans(figures)]
    return [table for table in made if table.rows]


def markdown(document: Mapping[str, Any]) -> str:
    """The whole report of a results document in Markdown."""
    head = [f"`{document['command']}`, {document['date'][:10]}", *notes(document)]
    body = [table.markdown() for table in tables(document["results"])]
    return "\n\n".join(["\n".join(f"- {line}" for line in head), *body])


def base(figures: Figures, k: int) -> Table:
    """Table 3 (k = 5) and Table 16/17 (k = 10): the retrievers as they are."""
    sets = [*figures["questions"], AVERAGE]
    columns = ["retriever"]
    for name in sets:
        columns += [f"{name} Prec.", f"{name} MRec."]
    if k == 5:
        columns.append("Prec.@1")
    made = Table(f"Retrievers as they are, top {k}, in percent", columns)
    for row in _rows(figures, "default"):
        cells = [f"measured: {row['retriever']}"]
        for name in sets:
            for metric in (f"precision@{k}", f"mrecall@{k}"):
                found = row["metrics"][metric].get(name)
                cells.append(percent(found) if name == AVERAGE else _mean(found))
        if k == 5:
            cells.append(_mean(row["metrics"]["precision@1"][AVERAGE]))
        made.add(*cells)
    if _of_berds(figures):
        known = published.K5 if k == 5 else published.K10
        for (corpus, retriever), values in known.items():
            made.add(f"published: {retriever}, {corpus}", *map(_published, values))
    return made


def approaches(figures: Figures) -> Table:
    """Table 4/5 and the pipeline: averages over the sets, and the difference to the default."""
    made = Table(
        "Approaches, average over the sets, in percent",
        ["retriever and approach", "Prec.@5", "MRec.@5", "change", "p", "Prec.@10", "MRec.@10"],
    )
    for row in figures["rows"]:
        change = row["against_default"].get("mrecall@5")
        made.add(
            f"measured: {row['retriever']}, {row['approach']}",
            percent(row["metrics"]["precision@5"][AVERAGE]),
            percent(row["metrics"]["mrecall@5"][AVERAGE]),
            f"{100 * change['mean']:+.1f}" if change else "",
            f"{change['p']:.3f}" if change else "",
            _mean(row["metrics"]["precision@10"][AVERAGE]),
            _mean(row["metrics"]["mrecall@10"][AVERAGE]),
        )
    known = published.APPROACHES if _of_berds(figures) else {}
    for (corpus, retriever), values in known.items():
        for place, name in enumerate(("default", "mmr", "expansion")):
            precision, mrecall = values[2 * place], values[2 * place + 1]
            change = (mrecall or 0.0) - (values[1] or 0.0)
            made.add(
                f"published: {retriever}, {corpus}, {name}",
                _published(precision),
                _published(mrecall),
                f"{change:+.1f}" if place else "",
                "",
                "",
                "",
            )
    return made


def standard(figures: Figures) -> Table:
    """The standard set metrics, and what each approach costs a question."""
    columns = ["alpha-nDCG@5", "ERR-IA@5", "subtopic recall@5", "alpha-nDCG@10"]
    made = Table(
        "Standard set metrics (average over the sets, in percent) and cost of a question",
        ["retriever and approach", *columns, "searches", "selector pairs", "seconds"],
    )
    for row in figures["rows"]:
        names = ("alpha_ndcg@5", "err_ia@5", "subtopic_recall@5", "alpha_ndcg@10")
        cost = row["cost"]
        known = cost["seconds"] > 0
        made.add(
            f"{row['retriever']}, {row['approach']}",
            *(percent(row["metrics"][name][AVERAGE]) for name in names),
            f"{cost['searches']:.1f}" if known else "",
            f"{cost['judged_pairs']:.1f}" if known else "",
            f"{cost['seconds']:.2f}" if known else "",
        )
    return made


def sizes(figures: Figures) -> Table:
    """Table 5/17: how many passages from the top it takes."""
    depth = figures["depth"]
    made = Table(
        f"Passages needed to take all perspectives, of the top {depth}",
        ["retriever", "mean size", f"% of questions within top {depth}"],
    )
    for name, found in figures["sizes"].items():
        size = found["size"]
        shown = f"{size['mean']:.1f} [{size['low']:.1f}, {size['high']:.1f}]" if size else "-"
        made.add(f"measured: {name}", shown, percent(found[f"mrecall@{depth}"][AVERAGE]))
    if depth == 100 and _of_berds(figures):
        for (corpus, retriever), (mean, share) in published.SIZES.items():
            made.add(f"published: {retriever}, {corpus}", f"{mean:.1f}", _published(share))
    return made


def union(figures: Figures) -> Table:
    """Table 6: whether the corpus holds the perspectives at all."""
    depth, found = figures["depth"], figures["union"]
    sets = [*figures["questions"], AVERAGE]
    made = Table(
        f"Questions with all perspectives in the union of the retrievers' top {depth}, in percent",
        ["corpus", *sets],
    )
    made.add(
        f"measured: {len(found['retrievers'])} retrievers",
        *(percent(found["coverage"].get(name)) for name in sets),
    )
    if depth == 100 and _of_berds(figures):
        for corpus, values in published.UNION.items():
            made.add(f"published: {corpus}", *map(_published, values))
    return made


def outcomes(figures: Figures) -> Table:
    """Figure 2: what the top 5 take of two-sided questions."""
    made = Table(
        "What the top 5 take, in percent of the two-sided questions",
        ["retriever and approach", "supporting only", "opposing only", "both", "neither"],
    )
    for row in figures["rows"]:
        total = sum(row["outcomes"].values())
        if total:
            shares = [f"{100 * count / total:.1f}" for count in row["outcomes"].values()]
            made.add(f"{row['retriever']}, {row['approach']}", *shares)
    return made


def leans(figures: Figures) -> Table:
    """Figure 3: how the wording of the question moves the top 5."""
    made = Table(
        "Lean of the top 5 by wording: p, n and p - n in percent, Delta = (p - n) / p",
        ["retriever, asked as", "p", "n", "p - n", "Delta"],
    )
    for row in figures["lean"]:
        if not row["questions"]:
            continue
        low, high = row["difference_interval"]
        made.add(
            f"{row['retriever']}, {row['asked_as']}",
            _hundred(row["p"]),
            _hundred(row["n"]),
            f"{_hundred(row['difference'])} [{_hundred(low)}, {_hundred(high)}]",
            f"{row['delta']:.3f}" if row["delta"] is not None else "undefined",
        )
    return made


def notes(document: Mapping[str, Any]) -> list[str]:
    """What a reader must know before the numbers."""
    figures, config = document["results"], document["config"]
    judge, selector = document["judge"], config["models"]["selector"]
    lines = [
        f"{sum(figures['questions'].values())} questions "
        f"({', '.join(f'{n} {name}' for name, n in figures['questions'].items())}), "
        f"{figures['perspectives']} perspectives; corpus: {document['data']['corpus']}.",
        f"The judge that scores is {judge['name']}, {_decided(figures['decision'])}; "
        + (f"the one that selects is {selector['name']}." if selector else "none selects."),
    ]
    if figures["judged_for_both"] is not None:
        lines.append(
            f"Of the passages that it finds to support one of two opposing perspectives it finds "
            f"{_hundred(figures['judged_for_both'])}% to support both: the fewer, the more its "
            "verdicts are worth."
        )
    if figures["same_model_selects_and_scores"]:
        lines.append("**One model selects and scores: the pipeline's rows are not to be trusted.**")
    if document["degradations"]:
        lines.append(f"**{document['degradations']} degradations: see the results file.**")
    for retriever, by_pool in figures["mmr_weights"].items():
        for of, found in by_pool.items():
            how = f"tuned on {found['tuned_on']} questions apart" if found["tuned_on"] else "given"
            lines.append(f"MMR over {retriever} ({of}): weight {found['weight']:g}, {how}.")
    if figures["left_out"]:
        lines.append(f"Left out, their models being absent: {', '.join(figures['left_out'])}.")
    for retriever, reasons in figures["not_served"].items():
        for name, reason in reasons.items():
            lines.append(f"Left out for {retriever}, {name}: {reason}.")
    if config["run"]["as_published"]:
        lines.append("As published: the variants of the authors' code.")
    return lines


def _of_berds(figures: Figures) -> bool:
    """True for the published sets; beside other questions the published rows say nothing."""
    return [*figures["questions"], AVERAGE] == list(published.BASE_COLUMNS)


def _decided(decision: Mapping[str, Any]) -> str:
    threshold, both = decision["threshold"], decision["both"]
    if both is None:
        return f"each perspective for itself (threshold {threshold:g})"
    return f"thresholds fitted on labelled pairs: {threshold:g}, for both of two sides {both:g}"


def _rows(figures: Figures, approach: str) -> Sequence[Mapping[str, Any]]:
    return [row for row in figures["rows"] if row["approach"] == approach]


def _mean(values: Mapping[str, float] | None) -> str:
    return "-" if values is None else _hundred(values["mean"])


def _hundred(value: float) -> str:
    return f"{100 * value:.1f}"


def _published(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
