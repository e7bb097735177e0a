"""Reference renderers as child processes that end with their client."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import weakref
from collections.abc import Sequence
from contextlib import suppress
from typing import IO

from propwash.render._engine import LOCAL, RenderEngine
from propwash.render._transport import RendererError


class RendererProcess:
    """A child process that runs `python -m propwash render`, or another command.

    Its standard input is a pipe that closes when this process ends for any reason.
    """

    def __init__(
        self,
        scene: str,
        ports: tuple[int, int],
        address: str,
        arguments: Sequence[str] = (),
        command: Sequence[str] | None = None,
    ) -> None:
        self.command = [
            *(command or (sys.executable, "-m", "propwash.cli.render_child")),
            *(("--scene", scene) if scene else ()),
            *("--port", str(ports[0]), str(ports[1])),
            *("--client-ip", address),
            *arguments,
        ]
        self.ports = ports
        """The ports of its client."""
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the child
        # in a new session, so that Ctrl-C reaches only this process, which then ends the child
        self._process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )
        # ends the child even if the client is not closed
        self._end = weakref.finalize(self, _end, self._process, self._log)

    @property
    def status(self) -> int | None:
        """The exit status; None while the child runs."""
        return self._process.poll()

    @property
    def process_id(self) -> int:
        """The process id of the child."""
        return self._process.pid

    def output(self) -> str:
        """The last 2000 bytes of its output."""
        if self._log.closed:
            return ""
        self._log.seek(0)
        return self._log.read()[-2000:].decode(errors="replace").strip()

    def close(self) -> None:
        """Terminates the child; kills it after 3 s."""
        self._end()


class Children:
    """The renderers that a client starts for its pairs of ports."""

    def __init__(self, scene: str, engine: RenderEngine) -> None:
        self.processes: list[RendererProcess] = []
        self._scene, self._engine = scene, engine

    def launch(
        self, probe: float, start: float, arguments: Sequence[str], command: Sequence[str] | None
    ) -> None:
        """Starts a renderer for each pair of ports to which none connects within `probe` [s].

        Raises RendererError if one ends, or does not connect within `start` [s].
        """
        sides = self._engine.sides

        def all_connected() -> bool | None:
            self.check()
            return all(side.link.subscribers for side in sides) or None

        if self._engine.wait_for(all_connected, probe):
            return
        for side in sides:
            if side.link.subscribers == 0:
                address = LOCAL.get(side.link.bind, side.link.bind)
                self.processes.append(
                    RendererProcess(self._scene, side.link.ports, address, arguments, command)
                )
        if not self._engine.wait_for(all_connected, start):
            child = self.processes[-1]
            raise RendererError(
                f"the renderer that was started did not connect within {start:g} s: "
                f"{' '.join(child.command)}\n{child.output()}"
            )

    def check(self) -> None:
        """Raises RendererError if a renderer has ended and no other one has its ports."""
        for child in self.processes:
            is_alone = self._engine.subscribers(child.ports) == 0
            if is_alone and child.status is not None:
                raise RendererError(
                    f"the renderer that was started has ended with status {child.status}: "
                    f"{' '.join(child.command)}\n{child.output()}"
                )

    def close(self) -> None:
        """Ends them."""
        for child in self.processes:
            child.close()


def _end(process: subprocess.Popen[bytes], log: IO[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(3.0)
        except subprocess.TimeoutExpired:
            process.kill()
            with suppress(subprocess.TimeoutExpired):
                process.wait(3.0)
    if process.stdin is not None:
        process.stdin.close()
    log.close()
