"""What can go wrong between a client and its renderers, besides ProtocolError and ValueError."""

from __future__ import annotations


class PortInUseError(OSError):
    """Another program, or another client, has the port."""


class RenderTimeoutError(TimeoutError):
    """No image in time. The message names the ports and what to check."""


class RendererError(RuntimeError):
    """The renderer that the client started has ended, or does not connect."""
