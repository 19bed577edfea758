import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { sha } from "../../support/console-records.ts";
import { useConsole } from "../../support/console-server.ts";
import { rawRequest } from "../../support/raw-request.ts";

const scripts = readdirSync("src/console/assets").filter((name) => name.endsWith(".js"));

const changeId = `chg_${"0".repeat(26)}`;

const server = useConsole();
const get = (path: string, init?: RequestInit) => fetch(server().url + path, init);
const read = async (path: string) => (await get(path)).text();

describe.each(["/", `/commits/${sha}`, `/commits/${"a".repeat(64)}`, `/agent-changes/${changeId}`])(
  "the page %s",
  (path) => {
    it("comes without a key, under a policy that allows nothing inline", async () => {
      const response = await get(path);
      const text = await response.text();
      expect([response.status, response.headers.get("content-type")]).toEqual([
        200,
        "text/html; charset=utf-8",
      ]);
      const policy = response.headers.get("content-security-policy")?.split("; ");
      expect(policy).toEqual(
        expect.arrayContaining(["default-src 'none'", "script-src 'self'", "style-src 'self'"]),
      );
      expect(policy?.join()).not.toMatch(/unsafe|\*|http/);
      expect(response.headers.get("x-content-type-options")).toBe("nosniff");
      expect(text).not.toMatch(/<script(?![^>]*\bsrc=)[^>]*>|<style|\son\w+=|\sstyle=|javascript:/i);
      expect(text).toContain('<html lang="en">');
    });

    it("takes its parts from this server, by addresses that stay right below a path", async () => {
      const text = await read(path);
      const links = [...text.matchAll(/\s(?:href|src)="(?!data:)([^"]+)"/g)].map(([, link = ""]) => link);
      expect(links.length).toBeGreaterThan(0);
      for (const link of links)
        expect(new URL(link, `https://x.example/below${path}`).pathname).toMatch(/^\/below\//);
      for (const link of links.filter((each) => each.includes("assets/")))
        expect((await fetch(new URL(link, server().url + path))).status).toBe(200);
    });
  },
);

it("says without JavaScript what is needed, and shows nothing else to fill in", async () => {
  const text = await read(`/commits/${sha}`);
  expect(text).toMatch(/<noscript><p>This page needs JavaScript, and an API key[^<]*<\/p><\/noscript>/);
  expect(text).toMatch(/<form [^>]*\bhidden>/);
  expect(text).toMatch(/<div id="toolbar" [^>]*\bhidden>/);
});

it("knows no page for what is no commit's full id", async () => {
  for (const id of ["main", sha.slice(1), sha.toUpperCase(), `${sha}/`, "%3Cscript%3E", `..%2f${sha}`]) {
    const response = await get(`/commits/${id}`);
    expect([id, response.status]).toEqual([id, 404]);
    expect(await response.json()).toEqual({ error: expect.any(String) });
  }
});

it("knows no page for what is no agent change's id", async () => {
  for (const id of ["chg_1", changeId.slice(1), changeId.replace("0", "u"), `${changeId}/`])
    expect((await get(`/agent-changes/${id}`)).status).toBe(404);
});

it("can only be read", async () => {
  for (const path of ["/", `/commits/${sha}`, "/assets/style.css"]) {
    const response = await get(path, { method: "POST" });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  }
});

describe("assets", () => {
  it.each([...scripts, "style.css"])("%s is sent once, then answered 304", async (name) => {
    const first = await get(`/assets/${name}`);
    expect(first.headers.get("content-type")).toBe(
      name.endsWith(".css") ? "text/css; charset=utf-8" : "text/javascript; charset=utf-8",
    );
    expect(first.headers.get("cache-control")).toBe("no-cache");
    const etag = first.headers.get("etag") ?? "";
    expect(etag).toMatch(/^"[\w-]{43}"$/);
    // As a browser asks; fetch itself would add that it wants no stored answer.
    const { port } = new URL(server().url);
    const headers = [`If-None-Match: ${etag}`];
    const again = await rawRequest(Number(port), { target: `/assets/${name}`, headers });
    expect([again.status, again.body]).toEqual([304, ""]);
  });

  it("import nothing that is not served", async () => {
    for (const name of scripts) {
      const text = await read(`/assets/${name}`);
      const imported = [...text.matchAll(/^import [^;]*from "([^"]+)";/gm)].map(([, path = ""]) => path);
      for (const path of imported)
        expect([name, scripts]).toEqual([name, expect.arrayContaining([path.slice(2)])]);
    }
  });

  it("never turn text into markup or code", async () => {
    for (const name of scripts) {
      const text = await read(`/assets/${name}`);
      expect(text, name).not.toMatch(
        /innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|setHTML|\beval\(|new Function|srcdoc|localStorage|document\.cookie/,
      );
    }
  });

  it("keep what is no script to themselves", async () => {
    for (const name of ["tsconfig.json", "records.d.ts", "..%2froutes.ts", ""])
      expect([name, (await get(`/assets/${name}`)).status]).toEqual([name, 404]);
  });

  it("are all in a build", () => {
    const tsc = ["node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json", "--showConfig"];
    const { compilerOptions, files } = JSON.parse(execFileSync(process.execPath, tsc, { encoding: "utf8" }));
    expect(compilerOptions).toMatchObject({ allowJs: true, noEmit: false });
    expect(files).toEqual(expect.arrayContaining(scripts.map((name) => `./src/console/assets/${name}`)));
  });

  it("fit the document's types", () => {
    const options = ["node_modules/typescript/bin/tsc", "-p", "src/console/assets"];
    expect(execFileSync(process.execPath, options, { encoding: "utf8" })).toBe("");
  });
});

it("comes after everything that has an address of its own", async () => {
  expect((await get("/healthz")).status).toBe(200);
  expect((await get("/api/v1/pull-requests")).status).toBe(401);
  for (const path of ["/commits", "/assets", "/nothing", "/favicon.ico"]) {
    const response = await get(path);
    expect([path, response.status, await response.json()]).toEqual([
      path,
      404,
      { error: expect.any(String) },
    ]);
  }
});

describe("a process that only works", () => {
  const worker = useConsole(false);

  it("shows no pages", async () => {
    for (const path of ["/", `/commits/${sha}`, "/assets/style.css"])
      expect((await fetch(worker().url + path)).status).toBe(404);
    expect((await fetch(`${worker().url}/healthz`)).status).toBe(200);
  });
});
