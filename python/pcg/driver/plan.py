"""Plans: the decisions of one compilation as a JSON document that can be read, saved and given back."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pcg.driver import plan_json
from pcg.driver.plan_document import PlanDocument, PlanError


@dataclass(frozen=True)
class Plan(PlanDocument):
    """A plan document, and what is known beside it where the plan was made.

    `trees`, when present, are the jax trees of arguments and results, `devices` those that the mesh was given.
    """

    trees: Any = field(default=None, compare=False, repr=False)
    devices: tuple[Any, ...] | None = field(default=None, compare=False, repr=False)

    def to_json(self, program: bool = True) -> str:
        """The plan as text: one line per argument, result and op; the last has the program, unless it is left out."""
        return plan_json.write(self, program)

    def save(self, path: str | Path, program: bool = True) -> None:
        """Write the document to `path`; without the `program` it can be given back, but its cost not estimated alone.

        Raises:
          OSError: the file cannot be written.
        """
        Path(path).write_text(self.to_json(program), encoding="utf-8")

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """Read a document.

        Raises:
          PlanError: not a plan, or of a version that this pcg does not read; one line that names the place in the
            document, the value there and what is allowed.
        """
        return cls(**vars(plan_json.read(text)))

    @classmethod
    def load(cls, path: str | Path) -> Plan:
        """Read the document at `path`.

        Raises:
          PlanError: as `from_json`, with the name of the file before it.
          OSError: the file cannot be read.
        """
        try:
            return cls.from_json(Path(path).read_text(encoding="utf-8"))
        except UnicodeDecodeError as error:
            raise PlanError(f"{path}: a plan is a JSON document: byte {error.start} is not UTF-8") from None
        except PlanError as error:
            raise PlanError(f"{path}: {error}") from None
