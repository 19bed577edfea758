import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { ConfigError, readConfig, secretsOf } from "../../../src/platform/config.ts";

function problemsOf(env: Record<string, string>): readonly string[] {
  try {
    readConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe("configuration", () => {
  it("needs no variable, and an empty one counts as unset", () => {
    const config = readConfig({ PORT: "", DATABASE_URL: "", ROLLCALL_SECRET_KEY: "" });
    expect(config).toMatchObject({
      host: "127.0.0.1",
      port: 3000,
      repository: undefined,
      secretKeys: undefined,
      concurrency: 50,
    });
    expect(config.database).toEqual({ engine: "sqlite", path: resolve(".rollcall/rollcall.sqlite") });
    expect([...config.roles]).toEqual(["web", "worker", "scheduler"]);
    expect(Object.isFrozen(config)).toBe(true);
  });

  it("reads what is set", () => {
    const key = "k".repeat(32);
    const config = readConfig({
      PORT: "0",
      DATABASE_URL: "mysql://u:p@h/d",
      ROLLCALL_URL: "https://rollcall.example.com//",
      ROLLCALL_SECRET_KEY: `${key} , ${key}2`,
      ROLLCALL_ROLES: "web, worker",
      ROLLCALL_API_RATE_LIMIT: "0",
    });
    expect(config).toMatchObject({
      port: 0,
      publicUrl: "https://rollcall.example.com",
      apiRateLimit: 0,
      secretKeys: [key, `${key}2`],
    });
    expect(config.database).toEqual({ engine: "mysql", url: "mysql://u:p@h/d" });
    expect([...config.roles]).toEqual(["web", "worker"]);
    expect(readConfig({ DATABASE_URL: "sqlite:/data/x.sqlite" }).database).toEqual({
      engine: "sqlite",
      path: "/data/x.sqlite",
    });
  });

  it.each<Record<string, string>>([
    { PORT: "70000" },
    { PORT: "-1" },
    { PORT: "3e3" },
    { DATABASE_URL: "postgres://u:p@h/d" },
    { MONGODB_URL: "mongo://host" },
    { MONGODB_URL: "mongodb:///database" },
    { ROLLCALL_URL: "ftp://example.com" },
    { ROLLCALL_ADMIN_KEY: "too short" },
    { ROLLCALL_SECRET_KEY: "short" },
    { ROLLCALL_SECRET_KEY: `${"k".repeat(32)},` },
    { ROLLCALL_ROLES: "web,cook" },
    { ROLLCALL_CONCURRENCY: "0" },
    { LOG_LEVEL: "loud" },
    { APP_ID: "mine" },
    { WEBHOOK_SECRET: "development" },
    { WEBHOOK_SECRET: "s".repeat(31) },
    { WEBHOOK_SECRET: "secret of an App that is not named" },
  ])("refuses %o with one line that names the variable and not its value", (env) => {
    const [[name, value]] = Object.entries(env) as [[string, string]];
    const problems = problemsOf(env);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(new RegExp(`^${name} .+\\.$`));
    if (value.length > 4) expect(problems[0]).not.toContain(value);
  });

  it("reports all bad variables at once", () => {
    expect(problemsOf({ PORT: "x", LOG_LEVEL: "y", ROLLCALL_CONCURRENCY: "z" })).toHaveLength(3);
  });

  it("wants a sealing key with MySQL", () => {
    expect(problemsOf({ DATABASE_URL: "mysql://u:hidden@h/d" })).toEqual([
      expect.stringMatching(/^ROLLCALL_SECRET_KEY .*required with MySQL/),
    ]);
  });

  it("takes a webhook secret with a GitHub App, which can do without one", () => {
    const app = { APP_ID: "1", PRIVATE_KEY: "key", ROLLCALL_REPOSITORY: "acme/agents" };
    const secret = "s".repeat(32);
    expect(readConfig(app).webhookSecret).toBeUndefined();
    const config = readConfig({ ...app, WEBHOOK_SECRET: secret });
    expect(config.webhookSecret).toBe(secret);
    expect(secretsOf(config)).toContain(secret);
  });

  it.each([
    ["mongodb://rollcall:p%40ss-word@a.example:27017,b.example/clock?tls=true", ["p%40ss-word", "p@ss-word"]],
    ["mongodb+srv://rollcall:pass-word@c.example", ["pass-word"]],
    ["mongodb://rollcall:100%@localhost", ["100%"]],
    ["mongodb://localhost:27017", []],
  ])("keeps the password in %s a secret", (address, secrets) => {
    const config = readConfig({ MONGODB_URL: address });
    expect(config.mongoUrl).toBe(address);
    expect(secretsOf(config).filter((secret) => secret !== undefined)).toEqual(
      expect.arrayContaining(secrets),
    );
    expect(secretsOf(config).filter((secret) => secret !== undefined)).toHaveLength(new Set(secrets).size);
  });

  it("tells a repository on GitHub from a local directory", () => {
    const app = { APP_ID: "1", PRIVATE_KEY: "line one\\nline two" };
    expect(
      readConfig({ ...app, ROLLCALL_REPOSITORY: "acme/agents", ROLLCALL_BRANCH: "main" }).repository,
    ).toEqual({
      kind: "github",
      owner: "acme",
      repo: "agents",
      branch: "main",
      app: { appId: "1", privateKey: "line one\nline two", baseUrl: undefined },
    });
    expect(readConfig({ ROLLCALL_REPOSITORY: "./acme/agents" }).repository).toMatchObject({
      kind: "local",
      path: resolve("acme/agents"),
    });
    expect(readConfig({ ROLLCALL_REPOSITORY: "/srv/agents" }).repository).toMatchObject({
      kind: "local",
      path: "/srv/agents",
    });
    expect(problemsOf({ ROLLCALL_REPOSITORY: "acme/agents" })[0]).toMatch(/APP_ID/);
    expect(
      problemsOf({
        ...app,
        PRIVATE_KEY: "",
        PRIVATE_KEY_PATH: "/nowhere/key.pem",
        ROLLCALL_REPOSITORY: "acme/agents",
      })[0],
    ).toMatch(/PRIVATE_KEY_PATH/);
  });
});
