"""Ways to a daemon: `thinkd stdio`, and the WebSocket of `thinkd serve`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Protocol
from urllib.parse import parse_qs, urlsplit, urlunsplit

_LINE_LIMIT = 64 << 20  # of asyncio's buffer. A message of the daemon has at most 8 MiB, unless its operator has set more.


class Line(Protocol):
    """A connection that carries whole JSON-RPC messages as text."""

    final: bool
    """The daemon refuses this client from now on: do not connect again."""

    async def send(self, message: str) -> None: ...

    def messages(self) -> AsyncIterator[str]:
        """The messages, up to the end of the connection, whatever its reason."""
        ...

    async def close(self) -> None: ...


class Transport(Protocol):
    """Opens connections to a daemon, one after the other. OSError says that there is none at the moment."""

    async def open(self) -> Line: ...


class Stdio:
    """The transport of a command that speaks the protocol on its standard input and output. It starts the daemon if none runs."""

    def __init__(self, *command: str):
        self.command = command or ("thinkd", "stdio")

    async def open(self) -> Line:
        process = await asyncio.create_subprocess_exec(
            *self.command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=_LINE_LIMIT
        )
        return _StdioLine(process)


class _StdioLine:
    final = False

    def __init__(self, process: asyncio.subprocess.Process):
        self.process = process
        self.writing = asyncio.Lock()

    async def send(self, message: str) -> None:
        assert self.process.stdin is not None
        async with self.writing:
            self.process.stdin.write(message.encode() + b"\n")
            await self.process.stdin.drain()

    async def messages(self) -> AsyncIterator[str]:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            yield line.decode()

    async def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            await asyncio.wait_for(self.process.wait(), 5)
        except TimeoutError:
            self.process.kill()
            await self.process.wait()


class WebSocket:
    """The transport to `thinkd serve`, whose output has the address of the page and the path of the token's file.

    It needs the package websockets, in Debian python3-websockets.
    """

    def __init__(self, page: str, token: str | None = None):
        url = urlsplit(page)
        token = (token or "").strip() or parse_qs(url.fragment).get("token", [""])[0]
        if not token:
            raise ValueError("the address has no #token=, and no token was given")
        scheme = "wss" if url.scheme == "https" else "ws"
        self.url = urlunsplit((scheme, url.netloc, "/rpc", "", ""))
        self.headers = {"Authorization": "Bearer " + token}

    async def open(self) -> Line:
        import websockets

        # The argument has another name from version 14 on.
        name = "additional_headers" if int(websockets.__version__.split(".")[0]) >= 14 else "extra_headers"
        try:
            socket = await websockets.connect(self.url, subprotocols=["thinkd.v1"], max_size=_LINE_LIMIT, **{name: self.headers})
        except websockets.WebSocketException as e:
            raise ConnectionError(str(e)) from e
        return _WebSocketLine(socket)


_TOKEN_REPLACED = 4001


class _WebSocketLine:
    final = False

    def __init__(self, socket):
        self.socket = socket

    async def send(self, message: str) -> None:
        import websockets

        try:
            await self.socket.send(message)
        except websockets.ConnectionClosed as e:
            raise ConnectionError(str(e)) from e

    async def messages(self) -> AsyncIterator[str]:
        import websockets

        try:
            async for message in self.socket:
                yield message
        except websockets.ConnectionClosed:
            pass
        self.final = self.socket.close_code == _TOKEN_REPLACED

    async def close(self) -> None:
        await self.socket.close()
