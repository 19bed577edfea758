import { describe, expect, it, onTestFinished } from "vitest";
import { startApp, type TestApp, useApp } from "../../support/app.ts";
import { startModelSimulator } from "../../support/model-simulator.ts";
import { rawRequest } from "../../support/raw-request.ts";

interface Event {
  id: string;
  event: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into data of every shape
  data: any;
}

/** The events of a stream as they come in. */
async function* read(response: Response): AsyncGenerator<Event> {
  if (!response.body) return;
  let text = "";
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const lines = text.slice(0, end).split("\n");
      text = text.slice(end + 2);
      const field = (name: string) =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2) ?? "";
      if (field("event")) yield { id: field("id"), event: field("event"), data: JSON.parse(field("data")) };
    }
  }
}

function open(app: TestApp, id: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${app.url}/api/v1/runs/${id}/events`, {
    headers: { authorization: `Bearer ${app.key}`, ...headers },
  });
}

const eventsOf = async (app: TestApp, id: string, headers?: Record<string, string>) =>
  Array.fromAsync(read(await open(app, id, headers)));

async function createRun(app: TestApp, agent = "hello", message = "one"): Promise<string> {
  return (await app.request("POST", "/runs", { body: { agent, message } })).json.run_id;
}

describe("the trace of a run that has ended", () => {
  const app = useApp();

  it("is the whole of it, in order, and then ends", async () => {
    const id = await createRun(app());
    const response = await open(app(), id);
    expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    expect(response.headers.get("cache-control")).toBe("no-store");
    const events = await Array.fromAsync(read(response));
    expect(events.map(({ id }) => id)).toEqual(events.map((_, index) => `1-${index + 1}`));
    expect([events.at(0)?.event, events.at(-1)?.event]).toEqual(["run.started", "run.finished"]);
    expect(events.at(-1)?.data).toEqual({ at: expect.any(String), status: "succeeded" });
    expect(events.length).toBeGreaterThan(2);
  });

  it("goes on after the Last-Event-ID", async () => {
    const id = await createRun(app());
    const all = await eventsOf(app(), id);
    for (const [index, event] of all.entries()) {
      expect(await eventsOf(app(), id, { "last-event-id": event.id })).toEqual(all.slice(index + 1));
    }
  });

  it.each(["", "nonsense", "1", "1-", "-1--1", "1-2-3", "99999999999-1", "1 or 1=1"])(
    "begins at the start when the Last-Event-ID is %j",
    async (given) => {
      const id = await createRun(app());
      const all = await eventsOf(app(), id);
      expect(await eventsOf(app(), id, { "last-event-id": given })).toEqual(all);
    },
  );

  it("is for viewers too, is 404 for an unknown run and takes no query", async () => {
    const id = await createRun(app());
    const key = await app().member("vera", "viewer");
    const events = await eventsOf(app(), id, { authorization: `Bearer ${key}` });
    expect(events.at(-1)?.event).toBe("run.finished");
    expect((await app().request("GET", "/runs/run_nothing/events")).status).toBe(404);
    expect((await app().request("GET", `/runs/${id}/events?x=1`)).status).toBe(400);
  });

  it("has the end of a run that was cancelled before it began", async () => {
    const idle = await startApp({ env: { ROLLCALL_ROLES: "web,scheduler" } });
    const id = await createRun(idle);
    const response = await open(idle, id);
    await idle.request("POST", `/runs/${id}/cancel`);
    const events = await Array.fromAsync(read(response));
    expect(events).toMatchObject([{ event: "run.finished", data: { status: "cancelled" } }]);
  });
});

describe("the trace of a run that is under way", () => {
  it("shows what happened so far, then what comes, and ends with the run", async () => {
    const simulator = await startModelSimulator();
    onTestFinished(() => simulator.close());
    const held = Promise.withResolvers<void>();
    simulator.script(
      { toolCalls: [{ name: "ROLLCALL_CURRENT_TIME", args: { timezone: "Europe/Berlin" } }] },
      { text: "It is noon.", until: held.promise },
    );
    const spec =
      "name: slow\nframework: ai-sdk\nmodel: openai-compatible/any\ninstructions: x\nconnections: [ROLLCALL_CURRENT_TIME]\n";
    const app = await startApp({
      files: { "agents/ai-sdk/slow.yaml": spec },
      env: { OPENAI_COMPATIBLE_BASE_URL: `${simulator.origin}/v1` },
    });
    const id = await createRun(app, "slow");
    await simulator.request(1);
    const stream = read(await open(app, id));
    const before: Event[] = [];
    while (!before.some(({ data }) => JSON.stringify(data).includes("Europe/Berlin"))) {
      const { value, done } = await stream.next();
      if (done) throw new Error("The stream ended before the run.");
      before.push(value);
    }
    expect(before[0]?.event).toBe("run.started");
    held.resolve();
    const after = await Array.fromAsync(stream);
    expect(after.at(-1)).toMatchObject({ event: "run.finished", data: { status: "succeeded" } });
    const ids = [...before, ...after].map((event) => event.id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(await eventsOf(app, id)).toEqual([...before, ...after]);
  });

  it("has the text of an answer that takes its time while it comes", async () => {
    const simulator = await startModelSimulator();
    onTestFinished(() => simulator.close());
    const seen = Promise.withResolvers<void>();
    const text = "Once upon a time there was a run whose answer took very long.";
    simulator.script({ text, stallUntil: seen.promise });
    const app = await startApp({
      files: {
        "agents/ai-sdk/slow.yaml":
          "name: slow\nframework: ai-sdk\nmodel: openai-compatible/any\ninstructions: x\n",
      },
      env: { OPENAI_COMPATIBLE_BASE_URL: `${simulator.origin}/v1` },
    });
    const stream = read(await open(app, await createRun(app, "slow")));
    const events: Event[] = [];
    for await (const event of stream) {
      events.push(event);
      if (event.event === "text.delta") seen.resolve();
    }
    const told = events.filter(({ event }) => event === "text.delta");
    expect(told[0]?.data).toEqual({ at: expect.any(String), step: 1, text: expect.stringMatching(/^Once /) });
    expect(text.startsWith(told.map(({ data }) => data.text).join(""))).toBe(true);
    expect(events.find(({ event }) => event === "step.finished")?.data.text).toBe(text);
  });

  it("ends when the process stops, and without a trace in the log when the client leaves", async () => {
    const app = await startApp({ env: { ROLLCALL_ROLES: "web,scheduler" } });
    const id = await createRun(app);
    const leaving = new AbortController();
    const left = await fetch(`${app.url}/api/v1/runs/${id}/events`, {
      headers: { authorization: `Bearer ${app.key}` },
      signal: leaving.signal,
    });
    leaving.abort();
    await expect(left.text()).rejects.toThrow();
    const stays = open(app, id).then((response) => response.text());
    await app.request("GET", "/agents");
    app.app.beginStop();
    expect(await stays).toBe("");
    expect(app.logs().filter((line) => /"level":"(error|warn)"/.test(line))).toEqual([]);
  });

  it("is not opened by HEAD", async () => {
    const app = await startApp({ env: { ROLLCALL_ROLES: "web,scheduler" } });
    const target = `/api/v1/runs/${await createRun(app)}/events`;
    const answer = await rawRequest(app.port, {
      method: "HEAD",
      target,
      headers: [`Authorization: Bearer ${app.key}`],
    });
    expect([answer.status, answer.headers["content-type"]]).toEqual([
      200,
      "text/event-stream; charset=utf-8",
    ]);
  });
});
