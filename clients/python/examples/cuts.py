"""Watches a turn and runs a tool over a WebSocket that is cut repeatedly: nothing is lost. Usage: cuts.py ADDRESS TOKENFILE (thinkd serve prints both)"""

import asyncio
import sys
from pathlib import Path

from thinkd_client import Client, Line, Snapshot, Tools, Transport, WebSocket, connect
from thinkd_client.types import ConfirmEvent, Message, MessageDeltaEvent, TextEndEvent, ThinkingDeltaEvent, ThinkingEndEvent


class Fragile:
    """A transport that remembers its connection, so that it can be cut."""

    def __init__(self, real: Transport):
        self.real = real
        self.line: Line | None = None
        self.connected = asyncio.Event()

    async def open(self) -> Line:
        self.line = await self.real.open()
        self.connected.set()
        return self.line

    async def cut(self) -> None:
        self.connected.clear()
        if self.line is not None:
            await self.line.close()


async def host(client: Client, transport: Fragile) -> None:
    """Approves and runs a call. The connection is cut before the approval, while the tool runs, and before its result is sent."""
    tools, runs = Tools(), []

    @tools.tool("Looks up a word.")
    async def lookup(word: str) -> str:
        runs.append(word)
        await transport.cut()
        await transport.connected.wait()
        await transport.cut()
        return f"{word}: 2026-03-01"

    async def approve(_: ConfirmEvent) -> str:
        await transport.cut()
        return "allow"

    session = await client.new_session(tools=tools, approve=approve, tool_policy={"names": {"lookup": "ask"}})
    async for _ in await session.prompt('Look. [[sim: tool=lookup args={"word":"date"}]] [[sim: thinking=0 text=8 pace=0]]'):
        pass
    messages = (await client.session_history(session_id=session.id)).messages
    results = [part.text for m in messages for block in m.content if block.type == "tool_result" for part in block.content or []]
    assert runs == ["date"] and results == ["date: 2026-03-01"], f"the tool ran for {runs}, with {results}"


async def main(address: str, token_file: str) -> None:
    transport = Fragile(WebSocket(address, Path(token_file).read_text()))
    watched: dict[tuple[str, int], str] = {}
    ended: dict[tuple[str, int], str] = {}
    seen = 0
    async with await connect(transport, longest_pause=0.05) as client:
        session = await client.new_session()
        async for event in await session.prompt("Count the letters. [[sim: thinking=200 text=200 pace=300]]"):
            match event:
                case ThinkingDeltaEvent(message_id=m, block=b, delta=delta) | MessageDeltaEvent(message_id=m, block=b, delta=delta):
                    watched[m, b] = watched.get((m, b), "") + delta
                    seen += 1
                    if seen % 5 == 0:
                        await transport.cut()
                case ThinkingEndEvent(message_id=m, block=b, text=text) | TextEndEvent(message_id=m, block=b, text=text):
                    ended[m, b] = text
                case Snapshot(state=state):  # the turn may have ended meanwhile: then it is among the older messages
                    messages: list[Message] = [*(state.messages or []), *(state.open.messages if state.open else [])]
                    for message in messages:
                        for block in message.content if message.role == "assistant" else []:
                            watched[message.id, block.block] = block.text
                            if not block.open:
                                ended[message.id, block.block] = block.text
        assert len(ended) >= 2 and all(watched[at] == text for at, text in ended.items()), "the deltas add up to the end"
        await host(client, transport)
    print(f"{len(ended)} blocks and a tool call, nothing lost")


asyncio.run(main(*sys.argv[1:]))
