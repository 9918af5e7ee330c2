"""Do retrieved sets cover every perspective? BERDS (Chen and Choi) with any retriever and judge."""
