"""A two-sided model of a few kB: a statement's score is how many words it shares with the text."""

from __future__ import annotations

from pathlib import Path

import numpy as np

WORDS = "zoos teach children animals suffer there trams run here learn not it is true that".split()


def write_small_judge(folder: Path) -> Path:
    """Writes model.onnx, tokenizer.json and judge.json to ``folder``; returns it."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    tokens = ["<s>", "<pad>", "</s>", "<unk>", *WORDS]
    tokenizer = Tokenizer(
        models.WordLevel({word: i for i, word in enumerate(tokens)}, unk_token="<unk>")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )
    tokenizer.save(str(folder / "tokenizer.json"))

    def constant(name, values, kind):
        return numpy_helper.from_array(np.array(values, dtype=kind), name)

    # Which words count: not the four tokens that stand for no word.
    counted = np.r_[np.zeros(4), np.ones(len(WORDS))]
    constants = [
        constant("depth", len(tokens), np.int64),
        constant("values", [0.0, 1.0], np.float32),
        constant("end", 2, np.int64),
        constant("axis", 1, np.int64),
        constant("axes", [1], np.int64),
        constant("last", [2], np.int64),
        constant("counted", counted, np.float32),
        constant("strength", 3.0, np.float32),
        constant("neither", [[2.0, -4.0]], np.float32),
        *[constant(f"place{i}", i, np.int64) for i in range(3)],
    ]
    node = helper.make_node
    nodes = [
        node("OneHot", ["ids", "depth", "values"], ["hot"], axis=-1),
        node("Mul", ["hot", "counted"], ["words"]),
        node("Equal", ["ids", "end"], ["is_end"]),
        node("Cast", ["is_end"], ["ends"], to=TensorProto.INT64),
        node("CumSum", ["ends", "axis"], ["place"]),
    ]
    for i in range(3):
        nodes += [
            node("Equal", ["place", f"place{i}"], [f"is{i}"]),
            node("Cast", [f"is{i}"], [f"in{i}"], to=TensorProto.FLOAT),
            node("Unsqueeze", [f"in{i}", "last"], [f"mask{i}"]),
            node("Mul", ["words", f"mask{i}"], [f"own{i}"]),
            node("ReduceMax", [f"own{i}"], [f"bag{i}"], axes=[1], keepdims=0),
        ]
    for i in range(2):
        nodes += [
            node("Mul", [f"bag{i}", "bag2"], [f"shared{i}"]),
            node("ReduceSum", [f"shared{i}", "axes"], [f"sum{i}"], keepdims=1),
            node("Mul", [f"sum{i}", "strength"], [f"score{i}"]),
        ]
    nodes += [
        node("Mul", ["mask", "mask"], ["used"]),  # a model may not have an input that nothing reads
        node("Concat", ["score0", "score1", "neither"], ["logits"], axis=1),
    ]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in ("ids", "mask")
    ]
    output = helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 4])
    graph = helper.make_graph(nodes, "small", inputs, [output], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, str(folder / "model.onnx"))
    settings = '{"max_tokens": 64, "statement_tokens": 12, "max_words": 30}'
    (folder / "judge.json").write_text(settings, encoding="utf-8")
    return folder
