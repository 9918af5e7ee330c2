"""Small files of our own in the forms of public data sets."""

from __future__ import annotations

DEBATEQA = [
    {
        "id": 1,
        "question": "Should libraries lend tools?",
        "partial_answers": [
            {
                "point_of_view": "Libraries should lend tools",
                "explanation": "Libraries should lend tools, because a drill is used for minutes in its whole life.",
                "evidence": "0",
            },
            {
                "point_of_view": "Libraries should not lend tools",
                "explanation": "Libraries should not lend tools, because nobody there can repair or insure them.",
                "evidence": "1",
            },
        ],
    },
    {
        "id": 2,
        "question": "Is tea better than coffee?",
        "partial_answers": [
            {"point_of_view": "Tea is better", "explanation": "Tea is better than coffee: it is calm in a cup."},
            {"point_of_view": "Coffee is better", "explanation": "Coffee is better than tea: it wakes a whole office."},
            {"point_of_view": "It depends on the hour", "explanation": "Which is better depends on the hour of the day."},
        ],
    },
]  # fmt: skip

DQFS = [
    {
        "query": "Should libraries lend tools?",
        "doc_texts": [
            ["Libraries should lend tools. A drill is used for minutes.", "Lending saves money for everyone."],
            "Libraries should not lend tools. Nobody there can repair them.",
        ],
        "stances": [True, False],
    },
    {"query": "Is tea better than coffee?", "doc_texts": ["Tea is calm in a cup."]},
]  # fmt: skip

POOLS = [
    {"kind": "doc", "id": "a", "text": "Libraries should lend tools: a drill is used for minutes."},
    {"kind": "doc", "id": "b", "text": "Libraries should not lend tools: nobody can repair them."},
    {"kind": "doc", "id": "c", "text": "The first library opened long ago."},
    {
        "kind": "query",
        "id": "q",
        "question": "Should libraries lend tools?",
        "statement": "Libraries should lend tools.",
        "opposite": "Libraries should not lend tools.",
        "fold": 0,
        "labels": {"a": "S", "b": "O", "c": "N"},
    },
]
