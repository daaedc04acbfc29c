"""A list with a selected row and a window on it: the state of one panel."""

from __future__ import annotations


class Panel:
    """Selection by key, so that it stays on its row when rows come, go or change places."""

    def __init__(self) -> None:
        self.keys: list[object] = []
        self._places: dict[object, int] = {}
        self.key: object = None
        self.top = 0
        self.height = 1
        self._is_chosen = False
        self._awaited: object = None

    def set(self, keys: list[object], height: int) -> None:
        """The rows now, and how many are visible."""
        was = self.index
        if keys is not self.keys and keys != self.keys:
            self.keys = keys
            self._places = {key: position for position, key in enumerate(keys)}
        self.height = max(height, 1)
        if self._awaited in self._places:
            self.key, self._awaited = self._awaited, None
        elif not self._is_chosen:
            # Nobody chose a row yet: the first one is the most important. The row that carries the selection keeps
            # it while it is in view, though: enter must not open what was sorted there since the eye saw it.
            if self._places.get(self.key, self.height) >= self.height:
                self.key = keys[0] if keys else None
            self.top = 0
        elif self.key not in self._places:
            self.key = keys[min(was, len(keys) - 1)] if keys else None
        self._follow()

    @property
    def index(self) -> int:
        """Position of the selected row; 0 when there is none."""
        return self._places.get(self.key, 0)

    def move(self, delta: int) -> None:
        """Move the selection; it stops at the ends."""
        if self.keys:
            self.pin()
            self.key = self.keys[min(max(self.index + delta, 0), len(self.keys) - 1)]
            self._follow()

    def select(self, position: int) -> bool:
        """Select by position; false if there is no such row."""
        if 0 <= position < len(self.keys):
            self.pin()
            self.key = self.keys[position]
            self._follow()
            return True
        return False

    def choose(self, key: object) -> None:
        """Select by key as soon as it is listed, if it is not yet."""
        self._is_chosen = True
        if key in self._places:
            self.key, self._awaited = key, None
        else:
            self._awaited = key

    def begin_anew(self) -> None:
        """Another moment is shown: unless somebody chose a row, the first one is the most important again."""
        if not self._is_chosen:
            self.key = None

    def pin(self) -> None:
        """The selection is somebody's choice from now on: it stays on its row wherever that goes."""
        self._is_chosen, self._awaited = True, None

    def visible(self) -> range:
        """Positions that are in view."""
        return range(self.top, min(self.top + self.height, len(self.keys)))

    def _follow(self) -> None:
        index = self.index
        self.top = min(max(self.top, index - self.height + 1), index)
        self.top = max(min(self.top, len(self.keys) - self.height), 0)
