"""When a stream of rows from some shards to others has ended, whatever the order in which its parts come.

Each sender says once how many rows it sends to each receiver: its punctuation, behind which nothing new is known of it.
A receiver has everything when all senders have said so and the rows that they announced have come.  (Progress tracking
as in MillWheel, VLDB'13, and Naiad, SOSP'13, which Pathways, MLSys'22, section 4.3, asks of its substrate.)
"""

from __future__ import annotations

from collections.abc import Sequence


class ExchangeError(ValueError):
    """Parts of an exchange that contradict each other."""


class ExchangeProgress:
    """What has come of one exchange; its caller has a lock if several threads use it."""

    def __init__(self, senders: int, receivers: int) -> None:
        self.senders, self.receivers = senders, receivers
        self._announced: dict[int, tuple[int, ...]] = {}
        self._arrived: set[tuple[int, int]] = set()
        self._missing = 0
        """Parcels that were announced and have not come."""
        self._early = 0
        """Parcels that have come from senders that have not said anything."""

    def punctuate(self, sender: int, counts: Sequence[int]) -> None:
        """A sender has said how many rows it sends to each receiver, and that this is all.

        Raises:
          ExchangeError: no such sender, it has said so before, or it has sent what it does not announce.
        """
        if not 0 <= sender < self.senders:
            raise ExchangeError(f"sender {sender}; allowed: 0 to {self.senders - 1}")
        if sender in self._announced:
            raise ExchangeError(f"sender {sender} has ended its stream twice; allowed: once")
        if len(counts) != self.receivers or min(counts, default=0) < 0:
            text = f"sender {sender} announces {list(counts)}; allowed: {self.receivers} numbers, 0 or more"
            raise ExchangeError(text)
        for receiver, count in enumerate(counts):
            came = (sender, receiver) in self._arrived
            if came and not count:
                raise ExchangeError(f"sender {sender} has sent rows to {receiver}, and announces none")
            self._early -= came
            self._missing += bool(count) and not came
        self._announced[sender] = tuple(int(n) for n in counts)

    def arrive(self, sender: int, receiver: int) -> None:
        """The rows of a sender for a receiver have come, before or after its punctuation.

        Raises:
          ExchangeError: no such shards, they came before, or they were not announced.
        """
        if not (0 <= sender < self.senders and 0 <= receiver < self.receivers):
            text = f"rows from {sender} to {receiver}; there are {self.senders} and {self.receivers} shards"
            raise ExchangeError(text)
        if (sender, receiver) in self._arrived:
            raise ExchangeError(f"rows from {sender} to {receiver} came twice; allowed: once")
        announced = self._announced.get(sender)
        if announced is None:
            self._early += 1
        elif not announced[receiver]:
            raise ExchangeError(f"rows from {sender} to {receiver} were not announced")
        else:
            self._missing -= 1
        self._arrived.add((sender, receiver))

    @property
    def ended(self) -> bool:
        """Whether all senders have ended their streams, and everything has come."""
        return len(self._announced) == self.senders and not self._missing and not self._early

    @property
    def counts(self) -> list[tuple[int, ...]]:
        """Rows from each sender to each receiver.

        Raises:
          ExchangeError: a sender has not said it.
        """
        if missing := [s for s in range(self.senders) if s not in self._announced]:
            raise ExchangeError(f"sender {missing[0]} has not ended its stream")
        return [self._announced[s] for s in range(self.senders)]

    def waits_for(self) -> str:
        """What is missing, in words; empty if nothing is."""
        open_ = [str(s) for s in range(self.senders) if s not in self._announced]
        pairs = [f"{s} to {r}" for s, own in self._announced.items() for r, n in enumerate(own)
                 if n and (s, r) not in self._arrived]  # fmt: skip
        texts = [f"the end of the streams of shards {', '.join(open_)}"] if open_ else []
        return "; ".join([*texts, *([f"rows from {', '.join(pairs)}"] if pairs else [])])
