"""Updates that come before a program listens to the session."""

from __future__ import annotations

import asyncio
import json
import unittest
from collections.abc import AsyncIterator

from thinkd_client import Session, connect


class Daemon:
    """A transport whose daemon sends notifications together with the response of attach, up to the seq `upto`."""

    final = False

    def __init__(self, upto: int):
        self.upto = upto
        self.out: asyncio.Queue[str | None] = asyncio.Queue()

    async def open(self) -> Daemon:
        return self

    async def send(self, message: str) -> None:
        request = json.loads(message)
        if request["method"] == "session/attach":
            self.out.put_nowait(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": {"seq": 4, "session": {}}}))
            for seq in range(5, self.upto + 1):
                self.notify(seq)

    def notify(self, seq: int) -> None:
        params = {"session_id": "s", "seq": seq, "title": str(seq)}
        self.out.put_nowait(json.dumps({"jsonrpc": "2.0", "method": "session_update", "params": params}))

    async def messages(self) -> AsyncIterator[str]:
        while (message := await self.out.get()) is not None:
            yield message

    async def close(self) -> None:
        pass


def listen(session: Session) -> list[int | None]:
    heard: list[int | None] = []
    session.listen(lambda update: heard.append(update and update.seq))
    return heard


class FirstListener(unittest.IsolatedAsyncioTestCase):
    async def test_updates_wait(self) -> None:
        for last in (4, 6, 1004):
            with self.subTest(last=last):
                daemon = Daemon(last)
                client = await connect(daemon)
                session = await client.attach("s")
                early = list(range(5, last + 1))
                first, second = listen(session), listen(session)
                self.assertEqual((first, second), (early, []))
                heard = asyncio.Event()
                session.listen(lambda _, heard=heard: heard.set())
                daemon.notify(last + 1)
                await heard.wait()
                self.assertEqual((first, second), ([*early, last + 1], [last + 1]))
                await client.close()

    async def test_no_more_than_1000_wait(self) -> None:
        client = await connect(Daemon(1005))
        self.assertEqual(listen(await client.attach("s")), [])
        await client.close()

    async def test_end(self) -> None:
        client = await connect(Daemon(5))
        session = await client.attach("s")
        await client.close()
        self.assertEqual(listen(session), [5, None])
