"""Runs a tool of its own, after its user has approved the call. Usage: tool.py THINKD QUESTION"""

import asyncio
import sys

from thinkd_client import Stdio, Tools, connect
from thinkd_client.types import ConfirmEvent, ToolEndEvent, TurnEndEvent

tools = Tools()


@tools.tool("Looks up a word.")
async def lookup(word: str) -> str:
    print("lookup", word)
    return f"{word}: 2026-03-01"


async def approve(question: ConfirmEvent) -> str:
    print(question.message, *(f"{part.name} {part.text}" for part in question.parts))
    return "allow"  # a real client asks its user, and shows all parts


async def main(thinkd: str, question: str) -> None:
    async with await connect(Stdio(*thinkd.split(), "stdio")) as client:
        session = await client.new_session(tools=tools, approve=approve, tool_policy={"names": {"lookup": "ask"}})
        async for event in await session.prompt(question):
            match event:
                case ToolEndEvent(content=[block]):
                    print("result", block.text)
                case TurnEndEvent(stop_reason=reason):
                    print(reason)


asyncio.run(main(*sys.argv[1:]))
