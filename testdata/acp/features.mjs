// An editor that tries the features of ACP one by one, with the types of the unstable schema: node features.mjs FOLDER PROGRAM ARGS...
// It prints a line for each feature that works, and fails at the first one that does not. All that the agent wrote is in FOLDER/heard.
// LOGIN_PAGE is the page on which a person enters the code of GitHub Copilot: POST with the code as the body.
import assert from "node:assert/strict";
import { spawn, execFile } from "node:child_process";
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import { client, methods, ndJsonStream, PROTOCOL_VERSION } from "@agentclientprotocol/sdk/unstable";

const [folder, program, ...args] = process.argv.slice(2);
const cwd = folder + "/project";
const shared = folder + "/shared"; // a folder besides the project
mkdirSync(shared, { recursive: true });
writeFileSync(shared + "/note.txt", "first\nneedle here\n");

const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
child.stdout.on("data", (data) => appendFileSync(folder + "/heard", data));

const updates = []; // of all sessions: {sessionId, update}
let wake = () => {};
const until = async (wanted, from) => {
  while (!updates.slice(from).some((u) => wanted(u.update))) await new Promise((resolve) => (wake = resolve));
};
const asked = []; // the permission requests
let permit = "allow_once"; // the kind that the user selects, or a function of the request
const terminals = new Map();
const elicited = []; // requests to open an address
let elicitationEnded;
const elicitationEnd = new Promise((resolve) => (elicitationEnded = resolve));

const app = client({ name: "features" })
  .onNotification(methods.client.session.update, ({ params }) => {
    updates.push(params);
    wake();
  })
  .onNotification(methods.client.auth.statusUpdate, () => {})
  .onRequest(methods.client.session.requestPermission, ({ params }) => {
    asked.push(params);
    const option = typeof permit === "function" ? permit(params) : params.options.find((o) => o.kind === permit);
    return { outcome: { outcome: "selected", optionId: option.optionId } };
  })
  .onRequest(methods.client.elicitation.create, async ({ params }) => {
    elicited.push(params);
    const code = /code (\S+)/.exec(params.message)[1];
    assert.equal((await fetch(process.env.LOGIN_PAGE, { method: "POST", body: code })).status, 200);
    return { action: "accept" };
  })
  .onNotification(methods.client.elicitation.complete, ({ params }) => elicitationEnded(params.elicitationId))
  .onRequest(methods.client.terminal.create, ({ params }) => {
    const id = "t" + (terminals.size + 1);
    const t = { output: "", released: false };
    t.done = new Promise((resolve) => {
      t.child = execFile(params.command, params.args, { cwd: params.cwd }, (error, out, err) => {
        t.output = out + err;
        resolve({ exitCode: error ? error.code ?? null : 0, signal: null });
      });
    });
    terminals.set(id, t);
    return { terminalId: id };
  })
  .onRequest(methods.client.terminal.waitForExit, ({ params }) => terminals.get(params.terminalId).done)
  .onRequest(methods.client.terminal.output, ({ params }) => ({ output: terminals.get(params.terminalId).output, truncated: false }))
  .onRequest(methods.client.terminal.kill, ({ params }) => (terminals.get(params.terminalId).child.kill(), {}))
  .onRequest(methods.client.terminal.release, ({ params }) => ((terminals.get(params.terminalId).released = true), {}));

const works = (feature) => console.log(feature);
const of = (sessionId, kind, from = 0) => updates.slice(from).filter((u) => u.sessionId === sessionId && u.update.sessionUpdate === kind).map((u) => u.update);
const calls = (sessionId, from) => [...of(sessionId, "tool_call", from), ...of(sessionId, "tool_call_update", from)];
const text = (sessionId, from) => of(sessionId, "agent_message_chunk", from).map((u) => u.content.text).join("");

await app.connectWith(ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)), async (agent) => {
  const { session } = methods.agent;
  const hello = await agent.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: { terminal: true, auth: { terminal: true }, elicitation: { url: {} }, session: { notices: {}, configOptions: { boolean: {} } } },
    clientInfo: { name: "features", version: "1" },
  });
  const can = hello.agentCapabilities;
  for (const name of ["list", "resume", "close", "delete", "fork", "archive", "status", "title", "systemPrompt", "additionalDirectories"]) assert.ok(can.sessionCapabilities[name], name);
  assert.ok(can.promptCapabilities.audio && can.promptCapabilities.image && can.promptCapabilities.embeddedContext);
  assert.deepEqual(hello.authMethods.map((m) => [m.id, m.type, m.args]), [["thinkd", "terminal", ["--login"]], ["copilot", undefined, undefined]]);
  works("initialize");

  const auth = await agent.request(methods.agent.auth.status, {});
  assert.equal(auth.state, "not_required"); // the simulator needs no key
  await assert.rejects(agent.request(methods.agent.authenticate, { methodId: "thinkd" }), { code: -32602 });
  works("auth/status");

  const open = (more = {}) => agent.request(session.new, { cwd, mcpServers: [], ...more });
  const say = async (sessionId, words, ...rest) => {
    const from = updates.length;
    const answer = await agent.request(session.prompt, { sessionId, prompt: [{ type: "text", text: words }, ...rest] });
    return { ...answer, from };
  };
  const quick = "[[sim: pace=0 thinking=8 text=8]]";

  const made = await open({
    additionalDirectories: [shared],
    systemPrompt: { mode: "append", content: [{ type: "text", text: "Be brief." }] },
  });
  const id = made.sessionId;
  await assert.rejects(open({ systemPrompt: { mode: "override", content: [{ type: "text", text: "x" }] } }), { code: -32602 });
  await assert.rejects(open({ additionalDirectories: ["relative"] }), { code: -32602 });
  works("systemPrompt");

  // Options: each has a category, a list with the current value in it, and changes with an answer that has the whole list.
  for (const o of made.configOptions) {
    if (o.type === "select") assert.ok(o.options.flatMap((g) => g.options ?? g).some((v) => v.value === o.currentValue), o.id);
    else assert.equal(typeof o.currentValue, "boolean");
  }
  const set = (configId, value, more = {}) => agent.request(session.setConfigOption, { sessionId: id, configId, value, ...more });
  const value = (list, configId) => list.configOptions.find((o) => o.id === configId)?.currentValue;
  assert.equal(value(await set("reasoning_effort", "low"), "reasoning_effort"), "low");
  assert.equal(value(await set("stop_on_other_model", true, { type: "boolean" }), "stop_on_other_model"), true);
  assert.equal(value(await set("model", "sim/gpt"), "model"), "sim/gpt");
  await assert.rejects(set("reasoning_effort", "ultra"), { code: -32602 });
  await assert.rejects(set("no_such_option", "x"), { code: -32602 });
  assert.equal(value(await set("model", "sim/claude"), "model"), "sim/claude");
  works("options");

  const first = await say(id, "Which is later? " + quick);
  assert.equal(first.stopReason, "end_turn");
  assert.ok(first.usage.outputTokens > 0 && first.usage.totalTokens === first.usage.inputTokens + first.usage.outputTokens, JSON.stringify(first.usage));
  const usage = of(id, "usage_update").at(-1);
  assert.ok(usage.used > 0 && usage.size > 0 && usage.cost.currency === "USD", JSON.stringify(usage));
  assert.ok(of(id, "agent_thought_chunk").length > 0 && text(id, 0) !== "");
  works("usage");

  const commands = of(id, "available_commands_update").at(-1).availableCommands.map((c) => c.name);
  for (const c of ["think", "model", "compact", "uncompact", "export"]) assert.ok(commands.includes(c), `${c} of ${commands}`);
  works("commands");

  const planned = await say(id, '[[sim: tool=todo args={"items":[{"content":"Read","status":"completed"},{"content":"Write","status":"in_progress"}]} pace=0]]');
  const plan = of(id, "plan", planned.from).at(-1);
  assert.deepEqual(plan.entries.map((e) => [e.content, e.status, typeof e.priority]), [["Read", "completed", "string"], ["Write", "in_progress", "string"]]);
  works("plan");

  // The search finds a line in a folder besides the project, and names it.
  const searched = await say(id, `[[sim: tool=search args=${JSON.stringify({ pattern: "needle", path: shared })} pace=0]]`);
  const located = calls(id, searched.from).flatMap((c) => c.locations ?? []);
  assert.ok(located.some((l) => l.path === shared + "/note.txt" && l.line === 2), JSON.stringify(calls(id, searched.from)));
  works("locations and additionalDirectories");

  asked.length = 0;
  const ran = await say(id, '[[sim: tool=run args={"command":"echo ran; exit 3"} pace=0]]');
  assert.equal(asked.length, 1);
  assert.deepEqual([...new Set(asked[0].options.map((o) => o.kind))].sort(), ["allow_always", "allow_once", "reject_always", "reject_once"]);
  assert.ok(calls(id, ran.from).some((c) => c.content?.some((part) => part.type === "terminal" && part.terminalId === "t1")));
  assert.ok(terminals.get("t1").released);
  assert.equal(calls(id, ran.from).at(-1).status, "failed");
  works("terminals");

  // A standing denial: the second call is refused without a question.
  permit = "reject_always";
  asked.length = 0;
  for (const n of [1, 2]) {
    const { from } = await say(id, `[[sim: tool=run args={"command":"ls -l ${n}"} pace=0]]`);
    assert.equal(calls(id, from).at(-1).status, "failed");
  }
  assert.equal(asked.length, 1);
  const grants = await agent.request("_thinkd/session/grants", { session_id: id });
  works("reject_always");

  // Another command asks again, and a grant for its first words lasts.
  permit = (p) => p.options.find((o) => o.kind === "allow_always" && /echo/.test(o.name)) ?? assert.fail(JSON.stringify(p.options));
  asked.length = 0;
  for (const n of [1, 2]) {
    const { from } = await say(id, `[[sim: tool=run args={"command":"echo hello ${n}"} pace=0]]`);
    assert.equal(calls(id, from).at(-1).status, "completed");
  }
  assert.equal(asked.length, 1);
  works("allow_always for a prefix");
  permit = "allow_once";

  // Rate limits are no internal errors.
  const limited = await say(id, "Hm. [[sim: fault=rate_limit retry_after=3600]]").then(() => assert.fail("no error"), (e) => e);
  assert.equal(limited.code, -32010, limited);
  assert.equal(limited.data.kind, "rate_limit");
  assert.ok(limited.data.retryAfterMs > 3_000_000 && limited.data.retryable, JSON.stringify(limited.data));
  works("rate limits");

  // A sound goes to a model that hears, and is refused for one that does not, before anything is stored.
  const sound = { type: "audio", mimeType: "audio/wav", data: Buffer.from("RIFF$\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0@\x1f\0\0\x80>\0\0\x02\0\x10\0data\0\0\0\0", "latin1").toString("base64") };
  const deaf = await say(id, "Listen.", sound).then(() => assert.fail("no error"), (e) => e);
  assert.equal(deaf.code, -32602, JSON.stringify(deaf));
  await set("model", "sim/gemini");
  assert.equal((await say(id, "Listen. " + quick, sound)).stopReason, "end_turn");
  await set("model", "sim/claude");
  works("audio");

  assert.deepEqual(await agent.request(session.setTitle, { sessionId: id, title: "Dates" }), { title: "Dates" });
  assert.equal((await agent.request(session.status, { sessionId: id })).status, "open");
  const titles = async (more = {}) => (await agent.request(session.list, { cwd, ...more })).sessions.map((s) => s.title);
  await open(); // a session in which nobody says anything is not listed
  assert.deepEqual(await titles(), ["Dates"]);
  works("session/set_title and session/status");

  const forked = await agent.request(session.fork, { sessionId: id, cwd, mcpServers: [] });
  assert.notEqual(forked.sessionId, id);
  assert.ok(value(forked, "model"));
  assert.equal((await say(forked.sessionId, "Go on. " + quick)).stopReason, "end_turn");
  const start = updates.length;
  await agent.request(session.load, { sessionId: forked.sessionId, cwd, mcpServers: [] });
  const replayed = of(forked.sessionId, "user_message_chunk", start).map((u) => u.content.text);
  assert.ok(replayed[0].startsWith("Which is later?") && replayed.at(-1).startsWith("Go on."), JSON.stringify(replayed));
  works("session/fork");

  await agent.request(session.archive, { sessionId: forked.sessionId });
  assert.deepEqual(await titles(), ["Dates"]);
  assert.equal((await titles({ archived: "only" })).length, 1);
  await agent.request(session.unarchive, { sessionId: forked.sessionId });
  assert.equal((await titles()).length, 2);
  works("session/archive");

  // A session belongs to its directory: the editor learns so when it names another one.
  const other = updates.length;
  await agent.request(session.load, { sessionId: id, cwd: folder, mcpServers: [] });
  await until((u) => u.sessionUpdate.includes("notice") && JSON.stringify(u).includes(cwd), other);
  works("another directory");

  // Commands: one prompt with another level, another model, the session as a text, and a summary of the earlier turns.
  const plain = (await open()).sessionId;
  assert.equal((await say(plain, "/think off Hm. " + quick)).stopReason, "end_turn");
  const switched = await say(plain, "/model sim/gpt");
  await until((u) => u.sessionUpdate === "config_option_update" && value(u, "model") === "sim/gpt", switched.from);
  assert.match(text(plain, (await say(plain, "/export")).from), /^# /m);
  assert.equal((await say(plain, "/think off And now? " + quick)).stopReason, "end_turn");
  assert.equal((await say(plain, "/compact")).stopReason, "end_turn");
  works("commands run");

  await agent.request(session.close, { sessionId: id });
  await agent.request(session.delete, { sessionId: id });
  const gone = await agent.request(session.load, { sessionId: id, cwd, mcpServers: [] }).catch((e) => e);
  assert.equal(gone.code, -32002);
  works("close and delete");

  assert.deepEqual(await agent.request(methods.agent.authenticate, { methodId: "copilot" }), {});
  assert.deepEqual(elicited.map((e) => [e.mode, e.elicitationId]), [["url", await elicitationEnd]]);
  assert.deepEqual((await agent.request(methods.agent.auth.status, {})).accounts, [{ label: "copilot", active: true }]);
  works("authenticate");

  const unknown = await agent.request("session/no_such", {}).catch((e) => e);
  assert.equal(unknown.code, -32601);
  await agent.request(methods.agent.logout, {});
  assert.equal((await agent.request(methods.agent.auth.status, {})).state, "not_required");
  works("logout");
});
child.stdin.end();
await new Promise((resolve) => (child.exitCode === null ? child.once("exit", resolve) : resolve()));
