"""Streams thinking and the answer, and says which level is in effect. Usage: thinking.py THINKD QUESTION"""

import asyncio
import sys

from thinkd_client import Stdio, connect
from thinkd_client.types import MessageDeltaEvent, ThinkingDeltaEvent, ThinkingEndEvent, TurnEndEvent, TurnStartEvent


async def main(thinkd: str, question: str) -> None:
    async with await connect(Stdio(*thinkd.split(), "stdio")) as client:
        session = await client.new_session(model_id="sim/claude", thinking_level="minimal")
        async for event in await session.prompt(question):
            match event:
                case TurnStartEvent(reasoning=r):
                    print(f"{r.requested_effort} gives {r.effective_effort}: {r.reason}")
                case ThinkingDeltaEvent(delta=delta) | MessageDeltaEvent(delta=delta):
                    print(delta, end="", flush=True)
                case ThinkingEndEvent():
                    print("\n---")
                case TurnEndEvent(stop_reason=reason):
                    print("\n" + reason)


asyncio.run(main(*sys.argv[1:]))
