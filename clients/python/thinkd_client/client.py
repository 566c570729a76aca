"""A connection to a daemon that reconnects by itself."""

from __future__ import annotations

import asyncio
import json
import random
import secrets
from collections.abc import Callable
from typing import Any

from . import types
from .codec import decode, encode
from .errors import ClosedError, LostError, RpcError
from .session import Session
from .tools import Approve, Tools
from .transport import Line, Stdio, Transport

# Methods that must not run twice. Those that take a client_id get one, and are repeated with it.
_ONCE = {"session/ask", "turn/resume", "session/compact", "auth/login", "confirm/answer", "tool/result"}
_REMEMBERED = {"session/new", "session/fork", "session/prompt", "session/append", "session/continue"}

_LONGEST_PAUSE = 15.0  # seconds

Settle = Callable[[Exception | None, Any], None]


async def connect(transport: Transport | None = None, **settings: Any) -> Client:
    """Opens the first connection, and raises OSError if that fails. Later the client reconnects until it is closed. See Client for settings."""
    client = Client(transport or Stdio(), **settings)
    await client._open()
    return client


class Client(types.Calls):
    """A client of a daemon. Its methods are those of the protocol: `await client.models_list()`.

    Updates of a session arrive in order, each once, also over lost connections. Requests without a response are repeated if that has no
    second effect; the others raise LostError.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        name: str = "thinkd-client-python",
        version: str = "0.1.0",
        attended: bool = False,
        capabilities: dict[str, Any] | None = None,
        on_event: Callable[[types.Event], None] | None = None,
        longest_pause: float = _LONGEST_PAUSE,
    ):
        """`attended` says that a person uses the client. `on_event` gets notifications without a session, such as auth_update."""
        self.daemon: types.InitializeResult | None = None
        self._transport = transport
        self._greeting = {
            "protocol_version": 1,
            "client": {"name": name, "version": version, "attended": attended},
            "capabilities": {"tools": True, "confirm": True} if capabilities is None else capabilities,
        }
        self._on_event = on_event
        self._longest_pause = longest_pause
        self._pauses = (0.125, 0.25)  # seconds, until the daemon sends its own
        self._line: Line | None = None
        self._closed: str | None = None
        self._next_id = 1
        self._pending: dict[int, tuple[str, str, Settle]] = {}
        self._sessions: dict[str, Session] = {}
        self._outbox: asyncio.Queue[str] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._life: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()

    async def close(self, reason: str = "the client was closed") -> None:
        """Closes the connection. Turns continue in the daemon."""
        if self._closed is None:
            self._end(reason)
        current = asyncio.current_task()
        tasks = [t for t in (*self._tasks, self._life) if t is not None and t is not current]
        for task in tasks:
            task.cancel()
        if self._line is not None:
            await self._line.close()  # ends a reader whose library has swallowed the cancellation
        await asyncio.gather(*tasks, return_exceptions=True)

    async def call(self, method: str, params: dict[str, Any] | None = None) -> Any:
        """Calls any method, with and without types: the result is JSON."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def settle(error: Exception | None, result: Any) -> None:
            if future.done():
                return  # its caller was cancelled
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

        self.request(method, params or {}, settle)
        return await future

    def request(self, method: str, params: dict[str, Any], settle: Settle) -> None:
        """Like call, but settles while the response is read, before any later update."""
        if self._closed is not None:
            settle(ClosedError(self._closed), None)
            return
        full = {k: v for k, v in params.items() if v is not None}
        if method in _REMEMBERED:
            full.setdefault("client_id", secrets.token_hex(16))
        number, self._next_id = self._next_id, self._next_id + 1
        message = _message(number, method, full)
        self._pending[number] = (method, message, settle)
        if self._line is not None:  # otherwise after the next connect
            self._outbox.put_nowait(message)

    async def _typed(self, method: str, params: dict[str, Any], result: Any) -> Any:
        return decode(result, await self.call(method, params))

    async def new_session(self, *, tools: Tools | None = None, approve: Approve | None = None, **params: Any) -> Session:
        """Creates a session and follows it. `params` are those of session/new. `tools` run here, and `approve` decides about their calls."""
        if tools is not None:
            params["tools"] = [*params.get("tools", []), *tools.offers()]
        made: asyncio.Future[Session] = asyncio.get_running_loop().create_future()

        def settle(error: Exception | None, result: Any) -> None:
            if error is not None:
                made.set_exception(error)
                return
            session = Session(self, result["session_id"], 0, tools, approve)  # follows before the next message is read
            self._sessions[session.id] = session
            made.set_result(session)

        self.request("session/new", params, settle)
        return await made

    async def attach(self, session_id: str, *, limit: int | None = None, tools: Tools | None = None, approve: Approve | None = None) -> Session:
        """Follows a session: `session.snapshot` is its state now, and updates follow. `limit` is the number of older messages."""
        made: asyncio.Future[Session] = asyncio.get_running_loop().create_future()

        def settle(error: Exception | None, result: Any) -> None:
            if error is not None:
                made.set_exception(error)
                return
            session = Session(self, session_id, result["seq"], tools, approve)
            self._sessions[session.id] = session
            session._begin(result)
            made.set_result(session)

        self.request("session/attach", {"session_id": session_id, "limit": limit}, settle)
        return await made

    def _work(self, coroutine: Any) -> None:
        """Runs something that close ends."""
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _open(self) -> None:
        line = await self._transport.open()
        self._begin(line)
        self._life = asyncio.get_running_loop().create_task(self._live(line))

    def _begin(self, line: Line) -> None:
        """Sends what the daemon must get on a new connection: the greeting, the sessions' places, and requests without a response."""
        unanswered = [message for _, message, _ in self._pending.values()]
        self._line, self._outbox = line, asyncio.Queue()
        self._outbox.put_nowait(_message(0, "initialize", self._greeting))
        for session in list(self._sessions.values()):
            session._resume()
        for message in unanswered:
            self._outbox.put_nowait(message)

    async def _live(self, line: Line) -> None:
        """Reads connections, one after the other, until the client is closed."""
        while True:
            writer = asyncio.create_task(self._write(line, self._outbox))
            try:
                async for text in line.messages():
                    if text.strip():
                        self._receive(json.loads(text))
            finally:
                writer.cancel()
            self._line = None
            for number, (method, _, settle) in list(self._pending.items()):
                if method in _ONCE:
                    del self._pending[number]
                    settle(LostError(f"{method}: the connection was lost before the response"), None)
            final = line.final
            await line.close()
            if final:
                self._end("the daemon refuses this client")
                return
            line = await self._reopen()
            if self._closed is not None:
                await line.close()
                return

    async def _write(self, line: Line, outbox: asyncio.Queue[str]) -> None:
        try:
            while True:
                await line.send(await outbox.get())
        except OSError:
            pass  # the reader sees the end of the connection as well

    async def _reopen(self) -> Line:
        """Connects again after random pauses whose bounds double: all clients lose a daemon at the same moment (protocol.md, Reconnect)."""
        low, high = self._pauses
        while True:
            high_now = min(self._longest_pause, high)
            await asyncio.sleep(random.uniform(min(low, high_now / 2), high_now))
            low, high = 2 * low, 2 * high
            try:
                line = await self._transport.open()
            except OSError:
                continue
            self._begin(line)
            return line

    def _end(self, reason: str) -> None:
        self._closed = reason
        pending, self._pending = self._pending, {}
        for _, _, settle in pending.values():
            settle(ClosedError(reason), None)
        for session in list(self._sessions.values()):
            session._end()
        self._sessions.clear()

    def _receive(self, message: dict[str, Any]) -> None:
        method = message.get("method")
        if method is not None:
            self._notify(method, message.get("params") or {})
            return
        if message.get("id") == 0:
            if "result" in message:
                self.daemon = decode(types.InitializeResult, message["result"])
                pauses = message["result"].get("reconnect")
                if pauses:
                    self._pauses = (pauses["min_ms"] / 1000, pauses["max_ms"] / 1000)
            return
        _, _, settle = self._pending.pop(message.get("id"), (None, None, None))
        if settle is None:
            return
        error = message.get("error")
        settle(RpcError(error) if error else None, message.get("result"))

    def _notify(self, method: str, params: dict[str, Any]) -> None:
        session = self._sessions.get(params.get("session_id", ""))
        if method == "stale":
            if session is not None:
                session._resume()
        elif session is not None:
            session._receive(method, params)
        elif self._on_event is not None and method in types.EVENTS:
            self._on_event(decode(types.EVENTS[method], params))


def _message(number: int, method: str, params: dict[str, Any]) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": encode(params)}, ensure_ascii=False)
