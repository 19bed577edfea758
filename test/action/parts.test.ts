import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { groupAgents } from "../../action/src/checkout.ts";
import { createClient } from "../../action/src/client.ts";
import { readEvent } from "../../action/src/event.ts";
import { readInputs } from "../../action/src/inputs.ts";
import { caseLine } from "../../action/src/locate-case.ts";
import { cell, logLine } from "../../action/src/plain-text.ts";
import { selectAgents } from "../../action/src/select-agents.ts";

const inputs = (changes: Record<string, string> = {}) => {
  const all: Record<string, string> = { "base-url": "https://x.example/rc/", "api-key": "rck_1", ...changes };
  return readInputs((name) => all[name] ?? "");
};

describe("inputs", () => {
  it("have the defaults of action.yml", () => {
    expect(inputs()).toEqual({
      baseUrl: "https://x.example/rc",
      apiKey: "rck_1",
      agents: { kind: "changed" },
      wait: true,
      timeoutMs: 600_000,
      failOn: "failed",
      workingDirectory: ".",
    });
    expect(inputs({ agents: "a, b\nc,,a" }).agents).toEqual({ kind: "named", names: ["a", "b", "c"] });
    expect(inputs({ agents: "all" }).agents).toEqual({ kind: "all" });
  });

  it.each([
    ["api-key", ""],
    ["api-key", "two\nlines"],
    ["base-url", "x.example"],
    ["base-url", "file:///etc"],
    ["base-url", "https://user@x.example"],
    ["wait", "yes"],
    ["timeout", "0"],
    ["timeout", "1.5"],
    ["fail-on", "always"],
  ])("are refused by name: %s %j", (name, value) => {
    expect(() => inputs({ [name]: value })).toThrow(`input ${name}`);
  });

  it("never show a key that is malformed", () => {
    expect(() => inputs({ "api-key": "rck_secret\u00e9" })).toThrow(/^(?!.*rck_secret)/);
  });
});

describe("the event", () => {
  const [a, b] = ["a".repeat(40), "b".repeat(40)];

  it.each([
    [{ pull_request: { head: { sha: a }, base: { sha: b } }, before: a }, a, { kind: "merge_base", sha: b }],
    [{ before: b, after: a }, a, { kind: "commit", sha: b }],
    [{ before: "0".repeat(40), after: a }, a, { kind: "new_branch" }],
    [{ before: "--output=x" }, "sha", { kind: "none" }],
    [null, "sha", { kind: "none" }],
  ])("%j", (payload, headSha, base) => {
    expect(readEvent(payload, "sha")).toEqual({ headSha, base });
  });
});

describe("the choice of agents", () => {
  const agents = groupAgents([
    "agents/ai-sdk/b.yaml",
    "agents/ai-sdk/a.json",
    "agents/ai-sdk/a.eval.yml",
    "agents/ai-sdk/deep/c.yaml",
    "agents/ai-sdk/.d.yaml",
    "agents/ai-sdk/e\n::error::x.yaml",
    "agents/ai-sdk/orphan.eval.yaml",
  ]);
  const chosen = async (paths: string[]) =>
    (await selectAgents(agents, { kind: "changed" }, async () => paths)).map(({ name }) => name);

  it("takes the files that the catalog takes", () => {
    expect(agents).toEqual([
      { name: "a", specPaths: ["agents/ai-sdk/a.json"], evalPaths: ["agents/ai-sdk/a.eval.yml"] },
      { name: "b", specPaths: ["agents/ai-sdk/b.yaml"], evalPaths: [] },
    ]);
  });

  it("follows changes of a spec, of an eval file and of one that was removed", async () => {
    expect(await chosen(["agents/ai-sdk/a.eval.yml"])).toEqual(["a"]);
    expect(await chosen(["agents/ai-sdk/b.yaml", "README.md"])).toEqual(["b"]);
    expect(await chosen(["agents/ai-sdk/b.eval.json"])).toEqual(["b"]);
    expect(await chosen([])).toEqual([]);
  });
});

describe("text of others", () => {
  it("cannot leave its cell or become markup", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        expect(cell(text).replaceAll(/&#\d+;/g, "")).not.toMatch(/[\n\r|<>`*_[\]()\\!~@:&]/);
      }),
    );
  });

  it("cannot become a command of the runner", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom("::", "##[", "#", "[", "\n", "\r", " ", "error")), (parts) => {
        const line = logLine(parts.join(""));
        expect(line).not.toMatch(/^\s*::|##\[|[\n\r]/);
      }),
    );
  });
});

describe("the line of a case", () => {
  it("is where the case begins, in YAML and JSON", () => {
    const yaml =
      "# first\ncases:\n  - name: a\n    input: x\n\n  - input: |\n      name: c\n    name: b: c\n";
    expect(caseLine(yaml, "a")).toBe(3);
    expect(caseLine('{"cases": [\n{"name": "a"},\n{"name": "b"}]}', "b")).toBe(3);
    expect(caseLine("cases: [", "b")).toBe(1);
    expect(caseLine("", "b")).toBe(1);
  });
});

describe("the client", () => {
  async function service(answers: readonly { status: number; after?: string; body?: unknown }[]) {
    const keys: unknown[] = [];
    const rest = [...answers];
    const server = createServer((request, response) => {
      keys.push(request.headers["idempotency-key"]);
      const next = rest.shift();
      if (!next || next.status === 0) return void request.socket.destroy();
      response.writeHead(next.status, next.after ? { "retry-after": next.after } : {});
      response.end(JSON.stringify(next.body ?? {}));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const slept: number[] = [];
    let now = 0.25;
    const client = createClient({
      baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      apiKey: "key",
      deadline: 100_000.5,
      now: () => now,
      async sleep(ms) {
        slept.push(ms);
        now += ms;
      },
      random: () => 0.5,
    });
    const post = () => client.createEval({ agent: "a", spec: "", eval: "", commitSha: "c" });
    return { post, keys, slept };
  }

  it("asks again after Retry-After and a broken connection, under one Idempotency-Key", async () => {
    const { post, keys, slept } = await service([
      { status: 429, after: "7" },
      { status: 0 },
      { status: 503, after: "3" },
      { status: 409, after: "1" },
      { status: 202, body: { eval_id: "eval_1" } },
    ]);
    expect(await post()).toBe("eval_1");
    expect(slept).toEqual([7_500, 1_500, 3_500, 1_500]);
    expect(keys).toHaveLength(5);
    expect(new Set(keys).size).toBe(1);
    expect(keys[0]).toEqual(expect.stringMatching(/^[\w-]{36}$/));
  });

  it("does not wait beyond the deadline, and takes other answers for final", async () => {
    const limited = await service([
      { status: 429, after: "60" },
      { status: 429, after: "60" },
    ]);
    await expect(limited.post()).rejects.toMatchObject({ status: 429 });
    expect(limited.slept).toEqual([60_500]);
    const body = {
      error: "No.",
      details: { file: "eval", problems: [{ message: "m", line: 2, column: 3 }] },
    };
    const refused = await service([{ status: 422, body }]);
    await expect(refused.post()).rejects.toMatchObject({
      message: "The service answered 422: No.",
      file: "eval",
      problems: [{ message: "m", line: 2, column: 3 }],
    });
    const moved = await service([{ status: 302 }]);
    await expect(moved.post()).rejects.toThrow("redirects");
  });
});
