"""Where another placement comes from while one runs, on rank 0: a search over the whole step, and
assistants that hand over single units. PlacementController decides whether it is tried.
"""

from __future__ import annotations

from typing import Any, Dict, Optional, Protocol, Sequence

from .assistants import AssistantsCommand, ProposedMoves, Resources
from .changes import WindowMedians
from .place_command import BackgroundSearch
from .placements import Placement, PlacementController
from .stages import StageSeconds
from .step_units import UnitGraph, owners_of, place_file


class Correction(Protocol):
    """Asked once a window. Never waits."""

    @property
    def searching(self) -> bool:
        """Whether something is on its way."""

    def found(self) -> Optional[Placement]:
        """Before the controller decides of the window."""

    def end_window(self, changed: bool, stages: Sequence[StageSeconds]) -> None:
        """The controller has decided; `changed`: another plan is in force."""

    def report(self) -> Dict[str, Any]: ...


class SearchCorrection:
    """By `optile place step` alone, where ranks are not as fast as at the last search."""

    def __init__(
        self, controller: PlacementController, graph: UnitGraph, nodes: Sequence[str]
    ) -> None:
        self._controller = controller
        self._graph = graph
        self._nodes = nodes
        self._search = BackgroundSearch()

    @property
    def searching(self) -> bool:
        return not self._search.idle or self._controller.wants_search

    def found(self) -> Optional[Placement]:
        answer = self._search.take()
        if answer is None:
            return None
        return Placement(tuple(owners_of(answer, self._graph, len(self._nodes))))

    def end_window(self, changed: bool, stages: Sequence[StageSeconds]) -> None:
        if changed or not self._search.idle or not self._controller.wants_search:
            return
        self._controller.note_search()
        self._search.begin(place_file(self._graph, self._controller.costs(), self._nodes))

    def report(self) -> Dict[str, Any]:
        return {}


class AssistedCorrection:
    """Also by `optile place assistants`, until the search has an answer."""

    def __init__(
        self, search: Correction, controller: PlacementController, graph: UnitGraph,
        elements: Sequence[int], resources: Resources,
    ) -> None:  # fmt: skip
        self._search = search
        self._controller = controller
        self._moves = ProposedMoves(graph, elements, resources)
        self._command = AssistantsCommand()
        self._found: Optional[Placement] = None
        self._begin(False)

    @property
    def searching(self) -> bool:
        return self._search.searching

    def found(self) -> Optional[Placement]:
        for answer in self._command.answers():
            self._moves.add(answer)
        self._found = None
        if (searched := self._search.found()) is not None:
            return searched
        if self._controller.may_change:
            self._found = self._moves.proposed(self._controller.plan)
        return self._found

    def end_window(self, changed: bool, stages: Sequence[StageSeconds]) -> None:
        asked = self._controller.proposed is not None  # whether it may be tried
        declined = not changed and self._found is not None and not asked
        if changed or declined or self._controller.speed_changed:
            self._begin(declined)
        self._search.end_window(changed, stages)
        if not changed:
            one = self._controller
            self._command.sample(self._moves.sample(
                one.plan, one.costs(), one.schedule, stages, WindowMedians.STEPS
            ))  # fmt: skip

    def _begin(self, declined: bool) -> None:
        one = self._controller
        self._command.begin(self._moves.begin(one.plan, one.costs(), one.schedule, declined))

    def report(self) -> Dict[str, Any]:
        return {
            "assistants": {
                "run": self._command.runs,
                "handovers": self._moves.handovers,
                "declined": self._moves.declined,
            }
        }
