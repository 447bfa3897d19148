"""Stores that are killed, or fail, at a step that a test chooses."""

from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from feedmill.adapters.store.engine import SqlStore
from feedmill.model.errors import Busy
from feedmill.ports import Store, UnitOfWork


class Killed(BaseException):
    """Nothing catches it, as nothing catches SIGKILL."""


@dataclass
class Fuse:
    """Burns down step by step; at the end it raises. Shape: None never ends."""

    left: int | None = None
    error: type[BaseException] = Killed

    def burn(self) -> None:
        if self.left is not None:
            self.left -= 1
            if self.left == 0:
                raise self.error("the fuse has burnt down")

    def burn_behind(self) -> None:
        """Burns behind what is done: there one can be killed, but nothing fails any more."""
        if self.error is Killed:
            self.burn()


@dataclass
class FusedStore:
    """A store on a fuse: before each transaction, and after its commit."""

    store: SqlStore
    fuse: Fuse

    @contextmanager
    def writing(self) -> Iterator[UnitOfWork]:
        self.fuse.burn()
        with self.store.writing() as unit:
            yield unit
        self.fuse.burn_behind()

    @contextmanager
    def reading(self) -> Iterator[UnitOfWork]:
        with self.store.reading() as unit:
            yield unit

    def close(self) -> None:
        self.store.close()


@dataclass(slots=True)
class LosingStore:
    """A store that loses some of its write transactions at their end. Shape: ``doomed`` are their numbers, from 1."""

    inner: Store
    doomed: Container[int] = ()
    writes: int = 0

    @contextmanager
    def writing(self) -> Iterator[UnitOfWork]:
        self.writes += 1
        with self.inner.writing() as unit:
            yield unit
            if self.writes in self.doomed:
                raise Busy("killed")

    @contextmanager
    def reading(self) -> Iterator[UnitOfWork]:
        with self.inner.reading() as unit:
            yield unit

    def close(self) -> None:
        self.inner.close()
