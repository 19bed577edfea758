import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Endpoint } from "../../../src/platform/http/index.ts";
import { useApp } from "../../support/app.ts";
import { arbitraryJunk, arbitraryOf } from "../../support/arbitrary-json.ts";
import { countRows, expectCleanLog, expectError } from "../../support/bad-input.ts";
import { rawRequest } from "../../support/raw-request.ts";

type Fields = Record<string, unknown>;

/** A request in parts, each as the endpoint declares it or broken in one place. */
interface Attempt {
  params: Fields;
  query: Fields;
  body: Fields;
}

const numRuns = 40;

/** Fields of a shape: as they should be, with one of them replaced by anything, or with one more. */
function fieldsOf(shape: Endpoint["params"], more: boolean): fc.Arbitrary<Fields> {
  if (!shape) return fc.constant({});
  const proper = arbitraryOf(shape) as fc.Arbitrary<Fields>;
  const broken = fc.tuple(proper, fc.nat(), arbitraryJunk()).map(([fields, at, junk]) => {
    const names = Object.keys(fields);
    const name = names[at % Math.max(1, names.length)];
    return name === undefined ? fields : { ...fields, [name]: junk };
  });
  const extra = fc.tuple(proper, fc.string({ minLength: 1, maxLength: 12 }), arbitraryJunk());
  return fc.oneof(
    proper,
    broken,
    ...(more ? [extra.map(([fields, name, junk]) => ({ ...fields, [name]: junk }))] : []),
  );
}

const attemptOf = ({ params, query, body }: Endpoint): fc.Arbitrary<Attempt> =>
  fc.record({ params: fieldsOf(params, false), query: fieldsOf(query, true), body: fieldsOf(body, true) });

const inAddress = (value: unknown) =>
  encodeURIComponent((typeof value === "string" ? value : JSON.stringify(value)).toWellFormed());

describe("random requests", () => {
  const app = useApp({ env: { ROLLCALL_ROLES: "web,scheduler" } });

  function send(endpoint: Endpoint, { params, query, body }: Attempt) {
    // A part that is empty is another address.
    const path = endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name) => inAddress(params[name]) || "x");
    const pairs = Object.entries(query).map(([name, value]) => `${inAddress(name)}=${inAddress(value)}`);
    return rawRequest(app().port, {
      method: endpoint.method,
      target: `/api/v1${path}${pairs.length > 0 ? `?${pairs.join("&")}` : ""}`,
      headers: [`Authorization: Bearer ${app().key}`, "Content-Type: application/json"],
      ...(endpoint.body ? { body: JSON.stringify(body) } : {}),
    });
  }

  /** What the body's own shape says of it, as the service reads it. */
  const fits = ({ body: shape }: Endpoint, body: Fields) =>
    !shape || shape.safeParse(JSON.parse(JSON.stringify(body))).success;

  it("are answered or refused, never a server's error, and a refused one leaves nothing behind", async () => {
    for (const endpoint of app().app.endpoints) {
      const seen = new Set<number>();
      await fc.assert(
        fc.asyncProperty(attemptOf(endpoint), async (attempt) => {
          const before = await countRows(app());
          const answer = await send(endpoint, attempt);
          const what = `${endpoint.id} ${JSON.stringify(attempt)}`;
          seen.add(answer.status);
          if (answer.status < 300) {
            expect(fits(endpoint, attempt.body), what).toBe(true);
            if (endpoint.kind === "json") expect(answer.status, what).toBe(endpoint.status);
          } else {
            expectError(
              answer,
              fits(endpoint, attempt.body) ? [400, 404, 409, 413, 422, 431] : [400, 413, 431],
              what,
            );
            expect(await countRows(app()), what).toEqual(before);
          }
        }),
        { numRuns },
      );
      // Where nothing of a request can fit or misfit, all are answered alike.
      if (endpoint.body || endpoint.query) expect(seen, endpoint.id).toContain(400);
    }
    expectCleanLog(app().logs());
  });

  it("leave the service as able as before", async () => {
    const { json } = await app().request("POST", "/runs", { body: { agent: "hello" } });
    expect(json.run_id).toMatch(/^run_/);
    expect((await app().request("GET", "/members")).json.members).toContainEqual(
      expect.objectContaining({ login: "admin", role: "workspace_admin" }),
    );
  });
});
