"""Queues prompts while a turn runs, edits and moves them, and steers. Usage: steer.py THINKD"""

import asyncio
import sys

from thinkd_client import Stdio, connect
from thinkd_client.types import ThinkingDeltaEvent


async def main(thinkd: str) -> None:
    async with await connect(Stdio(*thinkd.split(), "stdio")) as client:
        session = await client.new_session()
        first = await session.prompt("One. [[sim: thinking=3000 pace=10]]")
        async for event in first:
            if isinstance(event, ThinkingDeltaEvent):
                break
        second = await session.prompt("Two.")
        third = await session.prompt("Three. [[sim: pace=0]]")
        await second.edit("Two, edited. [[sim: pace=0]]")
        await third.move(before=second)
        steering = await session.steer("Be quick. [[sim: pace=0]]")
        print(first.disposition, second.disposition, third.disposition, steering.disposition)
        for waiting in await session.queue():
            print(waiting.text)
        for turn in third, first:
            print("cancelled", str(await turn.cancel()).lower())
        for turn in first, steering, second, third:
            print((await turn.wait()).stop_reason)


asyncio.run(main(*sys.argv[1:]))
