import { describe, expect, it } from "vitest";
import { startApp, useApp } from "../../support/app.ts";

describe("what is served without a key", () => {
  const app = useApp();
  const get = (path: string) => fetch(app().url + path);

  it("tells that the process is up", async () => {
    const response = await get("/healthz");
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ status: "ok" });
  });

  it("tells that it is ready once the catalog was read", async () => {
    const response = await get("/readyz");
    expect([response.status, await response.json()]).toEqual([200, { status: "ready" }]);
  });

  it("shows metrics of requests by route, never by address", async () => {
    await app().request("GET", "/agents/hello");
    const response = await get("/metrics");
    expect(response.headers.get("content-type")).toMatch(/^text\/plain/);
    const text = await response.text();
    expect(text).toMatch(
      /^rollcall_http_request_duration_seconds_count\{method="GET",route="\/agents\/\{name\}",status="200"\} \d+$/m,
    );
    expect(text).not.toContain("/agents/hello");
    expect(text).toMatch(/^rollcall_jobs\{state="dead"\} 0$/m);
  });

  it.each([["agent"], ["eval"]])("serves the JSON Schema of %s files", async (name) => {
    const response = await get(`/schemas/${name}.json`);
    expect(response.status).toBe(200);
    const schema = await response.json();
    expect(schema).toMatchObject({ $schema: expect.stringContaining("json-schema.org") });
  });
});

it("is not ready while it stops", async () => {
  const app = await startApp();
  app.app.beginStop();
  const response = await fetch(`${app.url}/readyz`);
  expect([response.status, await response.json()]).toEqual([
    503,
    { status: "not ready", reasons: ["The process is stopping."] },
  ]);
});
