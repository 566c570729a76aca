"""A client of thinkd.

A Client is one connection that reconnects by itself. A Session follows one conversation, and goes on after a lost connection. A Turn is
the sequence of updates that one prompt causes.
"""

from . import types
from .client import Client, connect
from .errors import ClosedError, LostError, RpcError, ThinkdError
from .session import Session, Snapshot, Turn, Update
from .tools import Approve, Tools
from .transport import Line, Stdio, Transport, WebSocket

__all__ = [
    "Approve", "Client", "ClosedError", "Line", "LostError", "RpcError", "Session", "Snapshot", "Stdio", "ThinkdError", "Tools", "Transport",
    "Turn", "Update", "WebSocket", "connect", "types",
]
