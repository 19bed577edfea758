import { randomBytes } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { type Endpoint, type Role, roles } from "../../src/platform/http/index.ts";
import { type RequestSetup, useApp } from "../support/app.ts";

const nameOf = ({ method, path }: Endpoint) => `${method} ${path}`;

/** A request that reaches the role check and changes nothing when it passes: no record has this id, no body fits. */
function harmlessRequest({ method, path, body }: Endpoint): [string, string, RequestSetup] {
  const address = path.replaceAll(/\{\w+\}/g, "nobody-has-this");
  return [method, address, body ? { body: { unknownField: true } } : {}];
}

describe("who may call which endpoint", () => {
  const app = useApp();

  /** Status of each endpoint for the bearer of an Authorization header. */
  async function statuses(authorization: string | undefined): Promise<Record<string, number>> {
    const found: Record<string, number> = {};
    for (const endpoint of app().app.endpoints) {
      const [method, path, setup] = harmlessRequest(endpoint);
      const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
      const { status } = await app().request(method, path, { ...setup, key: null, headers });
      found[nameOf(endpoint)] = status;
    }
    return found;
  }

  const everywhere = (status: number) =>
    Object.fromEntries(app().app.endpoints.map((endpoint) => [nameOf(endpoint), status]));

  async function keyWithId(login: string): Promise<{ id: string; key: string }> {
    const { json } = await app().request("POST", "/api-keys", { body: { name: "another", member: login } });
    return { id: json.apiKey.id, key: json.key };
  }

  it.each([
    ["no header", undefined],
    ["no scheme", "abcdefghijklmnopqrstuvwxyz"],
    ["another scheme", "Basic YWRtaW46YWRtaW4="],
    ["an empty token", "Bearer "],
    ["two tokens", "Bearer one two"],
    ["an unknown key", `Bearer rck_${"A".repeat(36)}`],
    ["a key of 10 kB", `Bearer ${randomBytes(5_000).toString("hex")}`],
  ])("answers 401 to %s", async (_what, authorization) => {
    expect(await statuses(authorization)).toEqual(everywhere(401));
  });

  it("answers 401 to the digest of a key", async () => {
    const [row] = await app().db.read("api_keys").select("hash");
    expect(await statuses(`Bearer ${row.hash}`)).toEqual(everywhere(401));
  });

  it("answers 401 to a key that is disabled, until it is enabled again", async () => {
    await app().member("dora", "workspace_admin");
    const { id, key } = await keyWithId("dora");
    await app().request("PATCH", `/api-keys/${id}`, { body: { enabled: false } });
    expect(await statuses(`Bearer ${key}`)).toEqual(everywhere(401));
    await app().request("PATCH", `/api-keys/${id}`, { body: { enabled: true } });
    expect((await app().request("GET", "/agents", { key })).status).toBe(200);
  });

  it("answers 401 to a key that is revoked", async () => {
    await app().member("rosa", "workspace_admin");
    const { id, key } = await keyWithId("rosa");
    await app().request("DELETE", `/api-keys/${id}`);
    expect(await statuses(`Bearer ${key}`)).toEqual(everywhere(401));
  });

  it("answers 403 to a key whose member was removed, also when the member comes back", async () => {
    const key = await app().member("remo", "workspace_admin");
    await app().request("DELETE", "/members/remo");
    expect(await statuses(`Bearer ${key}`)).toEqual(everywhere(403));
    await app().member("remo", "workspace_admin");
    expect(await statuses(`Bearer ${key}`)).toEqual(everywhere(403));
  });

  it("says WWW-Authenticate with a 401", async () => {
    const { headers } = await app().request("GET", "/agents", { key: null });
    expect(headers.get("www-authenticate")).toBe("Bearer");
  });

  it("takes a role change for the very next request", async () => {
    const key = await app().member("carl", "viewer");
    const call = async () => (await app().request("GET", "/members", { key })).status;
    expect(await call()).toBe(403);
    await app().request("PATCH", "/members/carl", { body: { role: "workspace_admin" } });
    expect(await call()).toBe(200);
    await app().request("PATCH", "/members/carl", { body: { role: "operator" } });
    expect(await call()).toBe(403);
  });

  describe("by role", () => {
    const keys = {} as Record<Role, string>;
    beforeAll(async () => {
      for (const role of roles) keys[role] = await app().member(`one-${role.replace("_", "-")}`, role);
    });

    it.each(roles)("lets the %s call what the role allows and refuses the rest", async (role) => {
      const refused = Object.entries(await statuses(`Bearer ${keys[role]}`)).map(([name, status]) => [
        name,
        status === 403,
      ]);
      const expected = app().app.endpoints.map((endpoint) => [
        nameOf(endpoint),
        roles.indexOf(role) < roles.indexOf(endpoint.role),
      ]);
      expect(refused).toEqual(expected);
    });
  });
});
