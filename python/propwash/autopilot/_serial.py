"""A serial port between the loop and a flight controller."""

from __future__ import annotations

import os
import select
import time
from contextlib import suppress
from typing import Self

_MAX_PACKET = 65536
_SEND_TIMEOUT = 0.5
"""s, after which a device that takes no bytes counts as ended."""
_RETRY = 0.5
"""s between attempts to open a device that has ended."""


class SerialLink:
    """A serial port or pseudo-terminal, without flow control: 8 data bits, no parity, one stop bit.

    A device that ends, as that of a flight controller on USB that starts anew, is opened again.

    device: its path. baud: bit/s; a USB port ignores it.

    Raises OSError if the device cannot be opened, ValueError for an unknown rate, ImportError on
    Windows.
    """

    def __init__(self, device: str, baud: int = 921_600) -> None:
        try:
            import termios
        except ImportError:
            raise ImportError("serial ports need Linux or macOS; use udp:PORT") from None
        speed = getattr(termios, f"B{baud}", None)
        if speed is None:
            known = sorted(int(n[1:]) for n in vars(termios) if n[0] == "B" and n[1:].isdigit())
            raise ValueError(
                f"baud = {baud!r:.50}: expected one of {', '.join(map(str, known[1:]))}"
            )
        self.port = device
        self._speed = speed
        self._file: int | None = None
        self._tried = time.monotonic()
        self._open()

    def _open(self) -> None:
        import termios
        import tty

        file = os.open(self.port, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        try:
            tty.setraw(file)
            attributes = termios.tcgetattr(file)
            attributes[2] |= termios.CLOCAL | termios.CREAD  # no modem
            attributes[4] = attributes[5] = self._speed
            termios.tcsetattr(file, termios.TCSANOW, attributes)
            termios.tcflush(file, termios.TCIFLUSH)
        except termios.error as error:
            os.close(file)
            raise OSError(*error.args, self.port) from None
        except BaseException:
            os.close(file)
            raise
        self._file = file

    def send(self, data: bytes) -> None:
        """Sends bytes; nothing happens while there is no device."""
        end = time.monotonic() + _SEND_TIMEOUT
        while data and self._file is not None:
            try:
                if not select.select([], [self._file], [], end - time.monotonic())[1]:
                    raise OSError("the device takes no bytes")
                data = data[os.write(self._file, data) :]
            except BlockingIOError:
                continue
            except (OSError, ValueError):  # ValueError: the time is up
                self.close()

    def receive(self, timeout: float) -> bytes | None:
        """Returns what has arrived, or None if nothing arrives within `timeout` [s].

        b"" means that the device has ended or is there again.
        """
        if self._file is None:
            return self._reopened(timeout)
        if not select.select([self._file], [], [], max(timeout, 0.0))[0]:
            return None
        try:
            if data := os.read(self._file, _MAX_PACKET):
                return data
        except BlockingIOError:  # another program has read it
            return None
        except OSError:
            pass
        self.close()
        return b""

    def _reopened(self, timeout: float) -> bytes | None:
        if time.monotonic() - self._tried < _RETRY:
            time.sleep(max(timeout, 0.0))
            return None
        self._tried = time.monotonic()
        with suppress(OSError):
            self._open()
            return b""
        return None

    def close(self) -> None:
        """Closes the device."""
        if self._file is not None:
            os.close(self._file)
        self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
