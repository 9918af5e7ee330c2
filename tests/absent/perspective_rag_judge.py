"""Stands first on the path of programs that tests start, as if the larger judge were not there."""

raise ModuleNotFoundError("kept from tests", name="perspective_rag_judge")
