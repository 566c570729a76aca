"""Asks a question and prints the answer. Usage: ask.py THINKD QUESTION   (THINKD is the program, with its flags)"""

import asyncio
import sys

from thinkd_client import Stdio, connect
from thinkd_client.types import MessageDeltaEvent


async def main(thinkd: str, question: str) -> None:
    async with await connect(Stdio(*thinkd.split(), "stdio")) as client:
        session = await client.new_session()
        turn = await session.prompt(question)
        async for event in turn:
            if isinstance(event, MessageDeltaEvent):
                print(event.delta, end="", flush=True)
        print("\n" + (await turn.wait()).stop_reason)


asyncio.run(main(*sys.argv[1:]))
