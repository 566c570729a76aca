"""Two clients follow one session: both get the same answer. Usage: two.py THINKD QUESTION"""

import asyncio
import sys

from thinkd_client import Session, Stdio, connect
from thinkd_client.types import MessageDeltaEvent, TurnEndEvent


def collect(session: Session) -> asyncio.Future[str]:
    """The text of the next turn. Any client may have sent its prompt."""
    text: list[str] = []
    done: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def listen(event: object) -> None:
        match event:
            case MessageDeltaEvent(delta=delta):
                text.append(delta)
            case TurnEndEvent():
                done.set_result("".join(text))

    session.listen(listen)
    return done


async def main(thinkd: str, question: str) -> None:
    transport = Stdio(*thinkd.split(), "stdio")
    async with await connect(transport, name="first") as first, await connect(transport, name="second") as second:
        asking = await first.new_session()
        watching = await second.attach(asking.id)
        texts = collect(asking), collect(watching)
        await asking.prompt(question)
        a, b = [await text for text in texts]
        print(a)
        print("the same" if a == b else "different")


asyncio.run(main(*sys.argv[1:]))
