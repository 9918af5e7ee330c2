"""How many sides a retriever shows: an audit of any retriever on questions of one's own."""

from perspective_rag.audit.error import ListingError
from perspective_rag.audit.figures import AuditFigures, audit_figures, worst
from perspective_rag.audit.measure import Measured, measure
from perspective_rag.audit.questions import (
    AuditQuestion,
    read_audit_questions,
    with_perspectives,
    write_audit_questions,
)
from perspective_rag.audit.report import audit_page
from perspective_rag.audit.verdict import AuditLimits, AuditVerdict, sentences

__all__ = [
    "AuditFigures",
    "AuditLimits",
    "AuditQuestion",
    "AuditVerdict",
    "ListingError",
    "Measured",
    "audit_figures",
    "audit_page",
    "measure",
    "read_audit_questions",
    "sentences",
    "with_perspectives",
    "worst",
    "write_audit_questions",
]
