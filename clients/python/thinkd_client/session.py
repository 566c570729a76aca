"""A conversation, and the turns in it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union

from . import types
from .codec import decode
from .errors import ClosedError, LostError, RpcError

if TYPE_CHECKING:
    from .client import Client
    from .tools import Approve, Tools

_CLOSING = 1006  # the code of what can be tried again, see protocol.md
_SHORTEST_PAUSE = 0.1  # seconds, before the session is asked for again
_LONGEST_PAUSE = 10.0
_MOST_EARLY = 1000  # updates that wait for the first listener


@dataclass
class Snapshot:
    """The state of the session. It replaces everything that a listener has of unfinished turns."""

    state: types.SessionAttachResult


Update = Union[types.Event, Snapshot]


class Session:
    """Follows one conversation. Client.new_session and Client.attach create it."""

    def __init__(self, client: Client, session_id: str, seq: int, tools: Tools | None, approve: Approve | None):
        self.client = client
        self.id = session_id
        self.snapshot: types.SessionAttachResult | None = None
        self._seq = seq
        self._tools = tools
        self._approve = approve
        self._started: set[str] = set()  # calls and questions that are handled
        self._resuming = False
        self._later: asyncio.TimerHandle | None = None  # of the next try to resume
        self._listeners: list[Callable[[Update | None], None]] = []
        self._early: list[Update | None] | None = []  # before the first listener; None: nothing waits any more

    def listen(self, listener: Callable[[Update | None], None]) -> Callable[[], None]:
        """Calls the listener for each update, and with None after the last one. It must not block. Returns what ends it.

        Updates that came before the first listener of the session are passed on to it at once. At most 1,000 wait, and with more it gets none
        of them.
        """
        early, self._early = self._early, None
        self._listeners.append(listener)
        for update in early or []:
            listener(update)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    async def prompt(self, text: str | None = None, **params: Any) -> Turn:
        """Sends a prompt. Iterate over the turn for its updates. `params` are those of session/prompt."""
        turn = Turn(self)  # listens from now on: updates may arrive together with the response
        try:
            answer = await self.client.session_prompt(session_id=self.id, text=text, **params)
        except BaseException:
            turn.leave()
            raise
        turn.id, turn.message_id, turn.disposition = answer.turn_id, answer.message_id, answer.disposition
        return turn

    async def steer(self, text: str, **params: Any) -> Turn:
        """Adds a prompt to the running turn: the model gets it with its next call. Without a running turn it begins one."""
        return await self.prompt(text, when_busy="steer", **params)

    async def append(self, text: str) -> types.SessionAppendResult:
        """Adds a message without a model call."""
        return await self.client.session_append(session_id=self.id, text=text)

    async def ask(self, text: str, **params: Any) -> types.SessionAskResult:
        """Asks a side question, which is not recorded."""
        return await self.client.session_ask(session_id=self.id, text=text, **params)

    async def queue(self) -> list[types.Queued]:
        """The prompts that wait."""
        return (await self.client.session_queue(session_id=self.id)).queue

    async def cancel(self, turn_id: str | None = None) -> bool:
        """Cancels the running turn, or the named one, which may wait."""
        return (await self.client.session_cancel(session_id=self.id, turn_id=turn_id)).cancelled

    def _begin(self, state: dict[str, Any]) -> None:
        self.snapshot = decode(types.SessionAttachResult, state)
        self._serve_open(self.snapshot)

    def _resume(self) -> None:
        """Attaches after the last update, on a new connection or after stale.

        A node of a cluster may be unable to serve the session for a while: then it is asked again after the time that it names.
        """
        if self._later is not None:
            self._later.cancel()
            self._later = None
        if self._resuming:
            return
        self._resuming = True
        self.client.request("session/attach", {"session_id": self.id, "after_seq": self._seq}, self._resumed)

    def _resumed(self, error: Exception | None, state: Any) -> None:
        self._resuming = False
        pause = error.data.get("retry_after_ms") if isinstance(error, RpcError) and error.code == _CLOSING else None
        if pause is not None:
            seconds = min(max(pause / 1000, _SHORTEST_PAUSE), _LONGEST_PAUSE)
            self._later = asyncio.get_running_loop().call_later(seconds, self._resume)
            return
        if error is not None:
            if isinstance(error, RpcError):  # the session was deleted
                self.client._sessions.pop(self.id, None)
                self._end()
            return
        updates = state.get("updates")
        for update in updates or []:
            self._receive(update["method"], update["params"])
        self._seq = state["seq"]
        if updates is None:
            self._begin(state)
            assert self.snapshot is not None
            self._tell(Snapshot(self.snapshot))

    def _receive(self, method: str, params: dict[str, Any]) -> None:
        if params.get("seq", 0) <= self._seq or method not in types.EVENTS:
            return  # known, or of a newer daemon
        self._seq = params["seq"]
        event = decode(types.EVENTS[method], params)
        if isinstance(event, types.ToolStartEvent):
            self._run(event.call_id, event.name, event.host, event.arguments)
        elif isinstance(event, types.ConfirmEvent):
            self._decide(event)
        self._tell(event)

    def _serve_open(self, state: types.SessionAttachResult) -> None:
        """Takes up the calls and questions that are open after a lost connection."""
        if state.open is None:
            return
        for call in state.open.tools or []:
            self._run(call.call_id, call.name, call.host, call.arguments)
        for question in state.open.confirms or []:
            self._decide(question)

    def _run(self, call_id: str, name: str, host: str | None, arguments: Any) -> None:
        if self._tools is None or host != "client" or not self._tools.has(name) or call_id in self._started:
            return
        self._started.add(call_id)
        tools = self._tools

        async def run() -> None:
            result = await tools.run(name, arguments or {})
            while True:
                try:
                    await self.client.tool_result(session_id=self.id, call_id=call_id, **result)
                except LostError:  # a result that arrived twice is refused
                    continue
                except (RpcError, ClosedError):
                    pass  # the turn has ended, or the client was closed
                return

        self.client._work(run())

    def _decide(self, question: Any) -> None:
        if self._approve is None or question.confirm_id in self._started:
            return
        self._started.add(question.confirm_id)
        approve = self._approve

        async def decide() -> None:
            action = await approve(question)
            while True:
                try:
                    await self.client.confirm_answer(session_id=self.id, confirm_id=question.confirm_id, action=action)
                except LostError:  # the first answer counts
                    continue
                except (RpcError, ClosedError):
                    pass  # somebody else has answered
                return

        self.client._work(decide())

    def _tell(self, update: Update | None) -> None:
        if self._early is not None:
            if isinstance(update, Snapshot):
                self._early.clear()  # it replaces them
            self._early.append(update)
            if len(self._early) > _MOST_EARLY:
                self._early = None  # the program does not listen
        for listener in list(self._listeners):
            listener(update)

    def _end(self) -> None:
        if self._later is not None:
            self._later.cancel()
        self._tell(None)
        self._listeners.clear()


class Turn:
    """The updates that one prompt causes. Iterate over it once: it ends after turn_end.

    A Snapshot comes in between if the daemon no longer had the updates of a lost connection. If the turn has ended meanwhile, the
    iteration ends there, and wait() returns its end.
    """

    def __init__(self, session: Session):
        self.session = session
        self.id = ""
        self.message_id = ""
        self.disposition: types.Disposition | None = None
        self._into: str | None = None  # the turn that a steered prompt joined
        self._updates: asyncio.Queue[Update | None] = asyncio.Queue()
        self.leave = session.listen(self._updates.put_nowait)
        """Ends the iteration. The turn continues."""

    async def wait(self) -> types.TurnWaitResult:
        """Waits for the end, with or without iteration."""
        return await self.session.client.turn_wait(session_id=self.session.id, turn_id=self.id)

    async def cancel(self) -> bool:
        """Cancels this turn, running or waiting. What it has written is kept."""
        return await self.session.cancel(self.id)

    async def edit(self, text: str, **params: Any) -> None:
        """Replaces the text of a prompt that waits. `params` are those of queue/update."""
        await self.session.client.queue_update(session_id=self.session.id, turn_id=self.id, text=text, **params)

    async def move(self, before: Turn | None = None) -> None:
        """Moves a prompt that waits in front of another one, or to the end."""
        await self.session.client.queue_move(session_id=self.session.id, turn_id=self.id, before=before and before.id)

    async def __aiter__(self) -> AsyncIterator[Update]:
        try:
            while True:
                update = await self._updates.get()
                if update is None:
                    raise ClosedError("the session is no longer followed")
                if isinstance(update, Snapshot):
                    yield update
                    if await self._gone(update.state):
                        return
                elif self._concerns(update):
                    yield update
                    if isinstance(update, types.TurnEndEvent):
                        return
        finally:
            self.leave()

    def _concerns(self, event: types.Event) -> bool:
        turn = getattr(event, "turn_id", None)
        if isinstance(event, types.PromptEvent) and turn == self.id:
            self._into = event.into
        return turn is not None and turn in (self.id, self._into)

    async def _gone(self, state: types.SessionAttachResult) -> bool:
        """After a snapshot, this turn neither runs nor waits: it has ended meanwhile."""
        if state.open is not None and state.open.turn_id in (self.id, self._into):
            return False
        return all(q.turn_id != self.id for q in await self.session.queue())
