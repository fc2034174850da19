"""Linting annotations: what annotated layouts cost, what others would, and which to change first."""

from pcg.lint.advise import Advice, Change, advise
from pcg.lint.annotations import AnnotatedValue, Annotation
from pcg.lint.findings import Finding, findings
from pcg.lint.space import Figures, Space

__all__ = ["Advice", "AnnotatedValue", "Annotation", "Change", "Figures", "Finding", "Space", "advise", "findings"]
