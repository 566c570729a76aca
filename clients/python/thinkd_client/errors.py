"""What a call can raise."""

from __future__ import annotations

from typing import Any


class ThinkdError(Exception):
    """The base of all errors of this library."""


class RpcError(ThinkdError):
    """An error that the daemon returned. `kind` is stable: compare it, not the message."""

    def __init__(self, failure: dict[str, Any]):
        super().__init__(failure.get("message", ""))
        self.code: int = failure.get("code", 0)
        self.data: dict[str, Any] = failure.get("data") or {}
        self.kind: str = self.data.get("kind", "")


class LostError(ThinkdError):
    """The connection was lost before the response. The request may have taken effect."""


class ClosedError(ThinkdError):
    """The client was closed, or the daemon refuses it."""
