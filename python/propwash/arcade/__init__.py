"""People fly simulated vehicles in a browser; every flight is recorded (docs/arcade.md).

Experimental: names and behaviour may change in any minor version.
"""

from __future__ import annotations

from propwash.arcade._board import Board, Entry
from propwash.arcade._film import film
from propwash.arcade._game import TICK, Game
from propwash.arcade._ghosts import GHOSTS, Ghost, GhostKind, ghost
from propwash.arcade._interface import MODES, FlightSnapshot, Mode, Phase, Sticks
from propwash.arcade._runner import Runner
from propwash.arcade._serve import ArcadeSettings, serve
from propwash.arcade._sticks import StickMap, StickRates

__all__ = [
    "GHOSTS",
    "MODES",
    "TICK",
    "ArcadeSettings",
    "Board",
    "Entry",
    "FlightSnapshot",
    "Game",
    "Ghost",
    "GhostKind",
    "Mode",
    "Phase",
    "Runner",
    "StickMap",
    "StickRates",
    "Sticks",
    "film",
    "ghost",
    "serve",
]
