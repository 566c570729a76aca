// An editor, made with the protocol's SDK: node editor.mjs PHASE FOLDER PROGRAM ARGS...
// It writes a line of JSON for each thing that it saw, and all that the agent wrote, as it came, to FOLDER/heard.
import { spawn, execFile } from "node:child_process";
import { appendFileSync, readFileSync, writeFileSync, existsSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import { client, methods, ndJsonStream, PROTOCOL_VERSION, RequestError } from "@agentclientprotocol/sdk";

const [phase, folder, program, ...args] = process.argv.slice(2);
const cwd = folder + "/project";
const saw = (what) => process.stdout.write(JSON.stringify(what) + "\n");

// connect starts an agent and hands it to use.
async function connect(buffers, permits, use) {
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
  child.stdout.on("data", (data) => appendFileSync(folder + "/heard", data));
  const updates = [];
  let wake = () => {};
  const editor = { updates, terminals: 0 };
  editor.until = async (wanted) => {
    while (!updates.some(wanted)) await new Promise((resolve) => (wake = resolve));
  };
  const terminals = new Map();
  const app = client({ name: "editor" })
    .onNotification(methods.client.session.update, ({ params }) => {
      updates.push(params.update);
      wake();
    })
    .onRequest(methods.client.session.requestPermission, ({ params }) => {
      const kind = permits.shift();
      saw({ asked: params.options.map((o) => o.kind), answer: kind });
      return { outcome: { outcome: "selected", optionId: params.options.find((o) => o.kind === kind).optionId } };
    })
    .onRequest(methods.client.fs.readTextFile, ({ params }) => {
      if (buffers.has(params.path)) return { content: buffers.get(params.path) };
      if (!existsSync(params.path)) throw RequestError.resourceNotFound(params.path);
      return { content: readFileSync(params.path, "utf8") };
    })
    .onRequest(methods.client.fs.writeTextFile, ({ params }) => {
      buffers.set(params.path, params.content);
      return {};
    })
    .onRequest(methods.client.terminal.create, ({ params }) => {
      const id = "t" + ++editor.terminals;
      const t = { output: "" };
      t.done = new Promise((resolve) => {
        t.child = execFile(params.command, params.args, { cwd: params.cwd }, (error, out, err) => {
          t.output = out + err;
          resolve({ exitCode: error ? error.code ?? null : 0, signal: error?.signal ?? null });
        });
      });
      terminals.set(id, t);
      return { terminalId: id };
    })
    .onRequest(methods.client.terminal.waitForExit, ({ params }) => terminals.get(params.terminalId).done)
    .onRequest(methods.client.terminal.output, ({ params }) => ({ output: terminals.get(params.terminalId).output, truncated: false }))
    .onRequest(methods.client.terminal.kill, ({ params }) => (terminals.get(params.terminalId).child.kill(), {}))
    .onRequest(methods.client.terminal.release, ({ params }) => (terminals.delete(params.terminalId), saw({ released: params.terminalId }), {}));
  await app.connectWith(ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)), async (agent) => {
    const hello = await agent.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: true, session: { notices: {}, compaction: {} } },
      clientInfo: { name: "editor", version: "1" },
    });
    saw({ version: hello.protocolVersion, agent: hello.agentInfo.name, auth: hello.authMethods.length });
    await use(agent, editor);
  });
  child.stdin.end();
  await new Promise((resolve) => (child.exitCode === null ? child.once("exit", resolve) : resolve()));
}

const say = (text) => [{ type: "text", text }];

// story sums up the updates: text joined by message, and the states of each call.
function story(updates) {
  const lines = [];
  let last;
  for (const u of updates) {
    if (u.sessionUpdate.endsWith("_chunk")) {
      if (last === u.messageId) lines[lines.length - 1] += u.content.text;
      else lines.push(u.sessionUpdate.replace("_chunk", ": ") + u.content.text);
      last = u.messageId;
    } else if (u.sessionUpdate.startsWith("tool_call")) {
      if (u.status !== "in_progress" || u.sessionUpdate === "tool_call") lines.push("call: " + u.status + (u.kind ? " " + u.kind : ""));
      last = undefined;
    }
  }
  return lines;
}

if (phase === "first") {
  const file = cwd + "/a.txt";
  const buffers = new Map([[file, "one, not saved\n"]]);
  await connect(buffers, ["allow_once", "reject_once", "allow_always"], async (agent, editor) => {
    const made = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] });
    const sessionId = made.sessionId;
    writeFileSync(folder + "/session", sessionId);
    saw({ options: made.configOptions.map((o) => o.id), values: made.configOptions.map((o) => o.currentValue) });
    const set = await agent.request(methods.agent.session.setConfigOption, { sessionId, configId: "reasoning_effort", value: "max" });
    saw({ values: set.configOptions.map((o) => o.currentValue) });

    for (const text of ["Fix it.", "Write another.", "Run it."]) {
      const from = editor.updates.length;
      const { stopReason } = await agent.request(methods.agent.session.prompt, { sessionId, prompt: say(text) });
      saw({ stopReason, story: story(editor.updates.slice(from)) });
    }
    saw({ buffer: buffers.get(file), disk: readFileSync(file, "utf8"), other: buffers.has(cwd + "/b.txt") || existsSync(cwd + "/b.txt"), terminals: editor.terminals });

    const thinking = agent.request(methods.agent.session.prompt, { sessionId, prompt: say("Think for ever.") });
    const from = editor.updates.length;
    await editor.until((u) => editor.updates.indexOf(u) >= from && u.sessionUpdate === "agent_thought_chunk");
    await agent.notify(methods.agent.session.cancel, { sessionId });
    saw({ stopReason: (await thinking).stopReason });
    writeFileSync(folder + "/story", JSON.stringify(story(editor.updates)));
  });
} else {
  const sessionId = readFileSync(folder + "/session", "utf8");
  await connect(new Map(), [], async (agent, editor) => {
    const listed = await agent.request(methods.agent.session.list, { cwd });
    saw({ listed: listed.sessions.map((s) => [s.sessionId === sessionId, s.cwd === cwd, s.title]) });
    const loaded = await agent.request(methods.agent.session.load, { sessionId, cwd, mcpServers: [] });
    saw({ values: loaded.configOptions.map((o) => o.currentValue), loaded: story(editor.updates) });

    const running = agent.request(methods.agent.session.prompt, { sessionId, prompt: say("Think for ever.") });
    await connect(new Map(), [], async (second, other) => {
      const before = other.updates.length;
      await second.request(methods.agent.session.resume, { sessionId, cwd });
      saw({ replayed: other.updates.length - before });
      await other.until((u) => u.sessionUpdate === "agent_thought_chunk");
      await second.notify(methods.agent.session.cancel, { sessionId });
      saw({ stopReason: (await running).stopReason });
    });
    await agent.request(methods.agent.session.delete, { sessionId });
    await agent.request(methods.agent.session.delete, { sessionId });
    const gone = await agent.request(methods.agent.session.load, { sessionId, cwd, mcpServers: [] }).catch((error) => error);
    saw({ gone: gone.code });
  });
}
