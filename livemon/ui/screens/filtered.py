"""A filter on a screen's rows and, once it is dropped, the steps from match to match that ``less`` has on n and N."""

from __future__ import annotations

from livemon.ui.filtering import Filter, FilterError, parse_filter
from livemon.ui.lineedit import LineEdit
from livemon.ui.screens.base import BaseScreen, Prompt


class FilteredScreen(BaseScreen):
    """``/`` lists only what matches; escape lists everything again, and n and N go on from match to match."""

    def __init__(self) -> None:
        super().__init__()
        self.filter = Filter()
        """What is listed now."""
        self.sought = Filter()
        """The last filter that was accepted, dropped or not."""

    def filter_accepted(self) -> None:
        """Another filter holds from now on."""

    def step_to_match(self, step: int) -> None:
        """Select the next (1) or the previous (-1) match of ``sought``."""
        raise NotImplementedError

    def act_filter(self) -> None:
        """Ask for a filter; rows change while typing."""
        before = self.filter

        def changed(text: str) -> str | None:
            try:
                self.filter = parse_filter(text)
            except FilterError as error:
                return str(error)
            return None

        def accept(text: str) -> str | None:
            problem = changed(text)
            if problem is None:
                self.sought = self.filter if self.filter.terms else self.sought
                self.filter_accepted()
            return problem

        def cancel() -> None:
            self.filter = before

        self.ask(Prompt("filter", LineEdit(self.filter.text), accept, changed, cancel))

    def drop_filter(self) -> bool:
        """List everything again; false if everything was listed."""
        if not self.filter.terms:
            return False
        self.filter = Filter()
        steps = [self.app.keymap.first(action_id) for action_id in ("next_match", "previous_match")]
        if all(steps):
            self.app.say(f"filter dropped: {steps[0]} and {steps[1]} go to what it matched ({self.sought.text})")
        self.filter_accepted()
        return True

    def act_next_match(self) -> None:
        """The next match."""
        self.step_to_match(1)

    def act_previous_match(self) -> None:
        """The match before."""
        self.step_to_match(-1)
