"""What stands beside a judge's weights: ``judge.json``, and the README made from it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from perspective_rag.addons import JudgeSettings, stored_in


def settings_document(settings: JudgeSettings, provenance: Mapping[str, Any]) -> str:
    """The text of ``judge.json``: settings and where they come from."""
    values = {name: getattr(settings, name) for name in JudgeSettings.__slots__}
    return (
        json.dumps({**values, "provenance": dict(provenance)}, indent=2, ensure_ascii=False) + "\n"
    )


def model_card(folder: Path) -> str:
    """What the judge is, how good it is, and what it was made from."""
    stored = stored_in(folder)
    provenance: dict[str, Any] = stored["provenance"]
    ways = [name for name in provenance if name.startswith("development ")]
    tables = [provenance["development"], *(provenance[name] for name in ways)]
    figures = "\n".join(
        f"| {' | '.join([name, *(f'{table[name]:.3f}' for table in tables)])} |"
        for name in provenance["development"]
    )
    head = "".join(f" {name.removeprefix('development ')} |" for name in ways)
    return f"""---
library_name: perspective-rag
language: en
pipeline_tag: text-classification
---
# A judge for perspectives

Reads a passage and a statement and gives the probabilities that the passage supports it, opposes
it, or does neither. {_kind(folder, provenance)}, made on {provenance["date"]} with
[perspective-rag](https://github.com/perspective-rag/perspective-rag).

```python
from perspective_rag import CrossEncoderJudge
judge = CrossEncoderJudge("this folder")
```

## How good it is

On the development pairs, which set temperature, neutral bias and threshold, and no weight of the
model:

| figure | |{head}
|---|---:|{"---:|" * len(ways)}
{figures}

P(support) >= {stored["threshold"]} counts as support: the best F1 there, with the pairs weighted so
that a fifth of them support, as of retrieved passages. Probabilities are meant for such shares too:
the temperature is {stored["temperature"]}, and {stored.get("neutral_bias", 0.0)} is added to the
logit of neutral. A passage is read in windows of {stored["max_words"]} words.

## What it was made from

Base: {_base(provenance["base"])}

{_data(provenance)}

`judge.json` beside this file holds every setting, file hash and row count. A licence above is what
whoever trained the model stated of the data; check it before you pass the model on.
"""


def _kind(folder: Path, provenance: Mapping[str, Any]) -> str:
    parameters = provenance.get("parameters")
    size = f"{parameters / 1e6:.1f} million parameters, " if parameters else ""
    model = folder / "model.onnx"
    if model.is_file():
        return f"{size}ONNX, {model.stat().st_size / 1e6:.0f} MB"
    return f"{size}a LoRA adapter"


def _base(base: Any) -> str:
    if isinstance(base, Mapping):
        if "model" in base:
            return f"{base['model']} ({base.get('licence', 'licence not stated')})"
        return f"a judge trained before on {_base(base.get('base', 'an unnamed base'))}"
    return str(base)


def _data(provenance: Mapping[str, Any]) -> str:
    stages = provenance.get("stages") or [provenance]
    lines = ["| stage | data | rows | licence |", "|---|---|---:|---|"]
    for number, stage in enumerate(stages, start=1):
        name = stage.get("name", f"stage {number}")
        data: Sequence[Mapping[str, Any]] = stage["data"] if _listed(stage.get("data")) else []
        for each in data:
            lines.append(
                f"| {name} | {_names(each)} | {each.get('rows', '')} | {each.get('licence', '')} |"
            )
    return "\n".join(lines)


def _listed(data: Any) -> bool:
    return isinstance(data, list) and all(isinstance(each, Mapping) for each in data)


def _names(facts: Mapping[str, Any]) -> str:
    names = [each["file"] for each in facts.get("files", ())]
    if "by source" in facts and len(facts["by source"]) > 1:
        names = [f"{', '.join(names)}: {', '.join(facts['by source'])}"]
    if rule := facts.get("neutral by rule"):
        names.insert(0, f"neutral by rule ({rule})")
    return ", ".join(names)
