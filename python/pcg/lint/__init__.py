"""Linting annotations: what annotated layouts cost, what others would, and which to change first."""

from pcg.lint.advise import Advice, Change, advise
from pcg.lint.annotations import AnnotatedValue, AnnotationClass
from pcg.lint.findings import Finding, findings
from pcg.lint.space import Figures, Space

__all__ = ["Advice", "AnnotatedValue", "AnnotationClass", "Change", "Figures", "Finding", "Space", "advise", "findings"]
