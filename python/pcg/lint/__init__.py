"""Linting annotations: what the layouts that the user gave cost, what others would, and which to change first."""

from pcg.lint.advise import Advice, Change, advise
from pcg.lint.annotations import Annotation, Site
from pcg.lint.findings import Finding, findings
from pcg.lint.space import Figures, Space

__all__ = ["Advice", "Annotation", "Change", "Figures", "Finding", "Site", "Space", "advise", "findings"]
