"""Follows a turn over a kill of the daemon: kill -9 the daemon after "thinking". Usage: resume.py THINKD"""

import asyncio
import sys

from thinkd_client import Snapshot, Stdio, connect
from thinkd_client.types import ThinkingDeltaEvent


async def main(thinkd: str) -> None:
    async with await connect(Stdio(*thinkd.split(), "stdio")) as client:
        session = await client.new_session()
        turn = await session.prompt("Take your time. [[sim: thinking=3000 pace=10]]")
        thinking = False
        async for event in turn:
            match event:
                case ThinkingDeltaEvent() if not thinking:
                    thinking = True
                    print("thinking", flush=True)
                case Snapshot(state=state):
                    print("snapshot", state.session.status)
        print((await turn.wait()).stop_reason)  # all that was published is kept
        again = await session.prompt("And now? [[sim: pace=0]]")
        print((await again.wait()).stop_reason)


asyncio.run(main(*sys.argv[1:]))
