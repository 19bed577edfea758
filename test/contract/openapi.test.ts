import { Validator } from "@seriousme/openapi-schema-validator";
import { beforeAll, describe, expect, it } from "vitest";
import { useApp } from "../support/app.ts";

interface Operation {
  operationId: string;
  summary: string;
  description: string;
  parameters?: { name: string; in: string; required?: boolean }[];
  requestBody?: { content: Record<string, { schema: object }> };
  responses: Record<string, { content?: Record<string, { schema: object }> }>;
}

describe("the served OpenAPI document", () => {
  const app = useApp();
  let document: { openapi: string; paths: Record<string, Record<string, Operation>>; components: object };
  let operations: { at: string; path: string; method: string; operation: Operation }[];

  beforeAll(async () => {
    const response = await fetch(`${app().url}/api/v1/openapi.json`);
    expect(response.headers.get("content-type")).toMatch(/^application\/json/);
    document = (await response.json()) as typeof document;
    operations = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => ({
        at: `${method} ${path}`,
        path,
        method,
        operation,
      })),
    );
  });

  it("is a valid OpenAPI 3.1 document", async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(document));
    expect(errors).toBeUndefined();
    expect(valid).toBe(true);
    expect(document.openapi).toMatch(/^3\.1\./);
  });

  it("has exactly the operations that the service answers", () => {
    const declared = app().app.endpoints.map(({ method, path }) => `${method.toLowerCase()} /api/v1${path}`);
    expect(operations.map(({ at }) => at).sort()).toEqual(declared.sort());
  });

  it("gives each operation a summary and an id of its own", () => {
    for (const { at, operation } of operations) expect(operation.summary, at).toMatch(/\S/);
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^[a-z][A-Za-z]+$/);
  });

  it("documents the refusals and the shape of each answer", () => {
    for (const { at, operation } of operations) {
      const { responses } = operation;
      for (const status of ["400", "401", "403", "429"]) {
        const schema = responses[status]?.content?.["application/json"]?.schema;
        expect(schema, `${at} ${status}`).toEqual({ $ref: "#/components/schemas/Error" });
      }
      const [success, ...others] = Object.keys(responses).filter((status) => status.startsWith("2"));
      expect(others, at).toEqual([]);
      const content = Object.values(responses[success ?? ""]?.content ?? {});
      expect(content.length, at).toBe(success === "204" ? 0 : 1);
      for (const { schema } of content) expect(Object.keys(schema), at).not.toEqual([]);
    }
  });

  it("names each parameter of a path and marks it as required", () => {
    for (const { at, path, operation } of operations) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const described = (operation.parameters ?? []).filter((parameter) => parameter.in === "path");
      expect(
        described.map(({ name }) => name),
        at,
      ).toEqual(inPath);
      expect(
        described.every(({ required }) => required),
        at,
      ).toBe(true);
    }
  });

  it("says which fields a request may have", () => {
    const schema = document.paths["/api/v1/runs"]?.post?.requestBody?.content["application/json"]?.schema;
    expect(schema).toMatchObject({ type: "object", required: ["agent"], additionalProperties: false });
  });
});

describe("the page that shows the document", () => {
  const app = useApp();
  const get = (path: string) => fetch(app().url + path);

  it("comes with a policy that loads from this server alone", async () => {
    const response = await get("/api/v1/docs");
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toMatch(/^text\/html/);
    const policy = response.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self'");
    expect(policy).not.toMatch(/https?:|\*|unsafe-eval|script-src[^;]*unsafe-inline/);
  });

  it("loads each of its parts from here", async () => {
    const html = await (await get("/api/v1/docs")).text();
    expect(html).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
    const parts = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path ?? "");
    expect(parts.length).toBeGreaterThanOrEqual(3);
    for (const part of parts) {
      const response = await get(new URL(part, `${app().url}/api/v1/docs`).pathname);
      expect([part, response.status]).toEqual([part, 200]);
      expect(response.headers.get("x-content-type-options")).toBe("nosniff");
      expect(response.headers.get("content-type")).toMatch(
        part.endsWith(".css") ? /^text\/css/ : /javascript/,
      );
      await response.arrayBuffer();
    }
  });

  it("asks for the document at an address that exists", async () => {
    const script = await (await get("/api/v1/docs/start.js")).text();
    const [, address = ""] = /url: "([^"]+)"/.exec(script) ?? [];
    const response = await get(new URL(address, `${app().url}/api/v1/docs`).pathname);
    expect(((await response.json()) as { openapi: string }).openapi).toBe("3.1.0");
  });
});
