import { describe, expect, it } from "vitest";
import { sha256 } from "../../../src/platform/secrets.ts";
import { databases } from "../../support/databases.ts";
import { evals, type PromotionService, spec, startPromotion } from "./promotion-service.ts";

const specFile = "agents/ai-sdk/a.yaml";
const text = (n: number) => spec("a", `Number ${n}.`);

/** Promotes one draft after the other; draft `n` becomes version `n`. */
async function promoteDrafts({ commit, promote }: PromotionService, count: number): Promise<void> {
  for (let n = 1; n <= count; n++) {
    await commit({ [specFile]: text(n) });
    expect((await promote("a")).body.version.number).toBe(n);
  }
}

async function versions({ call }: PromotionService, agent = "a") {
  const { versions } = (await call("GET", `/agents/${agent}/versions?limit=200`)).body;
  return versions as { number: number; stable: boolean; specSha: string; createdAt: string }[];
}

const stableOf = async (service: PromotionService, agent = "a") =>
  (await versions(service, agent)).filter(({ stable }) => stable).map(({ number }) => number);

describe.each(databases())("versions on %s", (engine) => {
  it("are numbered from 1, never change, and come page by page, newest first", async () => {
    const service = await startPromotion(engine);
    await promoteDrafts(service, 5);
    const all = await versions(service);
    expect(all.map(({ number, stable, specSha }) => [number, stable, specSha])).toEqual(
      [5, 4, 3, 2, 1].map((n) => [n, n === 5, sha256(text(n))]),
    );
    const { call } = service;
    const first = (await call("GET", "/agents/a/versions?limit=2")).body;
    const second = (await call("GET", `/agents/a/versions?limit=2&before=${first.nextBefore}`)).body;
    const third = (await call("GET", `/agents/a/versions?limit=2&before=${second.nextBefore}`)).body;
    expect([...first.versions, ...second.versions, ...third.versions]).toEqual(all);
    expect(third.nextBefore).toBeNull();
    for (const query of ["limit=0", "limit=201", "before=0", "before=x", "before=-1", "other=1"])
      expect([query, (await call("GET", `/agents/a/versions?${query}`)).status]).toEqual([query, 400]);
    expect((await call("GET", "/agents/nobody/versions")).status).toBe(404);

    await service.promote("a", 2);
    const kept = (await versions(service)).map(({ stable: _, ...version }) => version);
    expect(kept).toEqual(all.map(({ stable: _, ...version }) => version));
  });

  it("go back by number and forth again, past the gate, with an audit entry each", async () => {
    const service = await startPromotion(engine);
    const { commit, promote, audited } = service;
    await promoteDrafts(service, 3);
    await commit({ [specFile]: "name: a", "agents/ai-sdk/a.eval.yaml": "cases: []" });
    const back = await promote("a", 1);
    expect([back.status, back.body.version]).toMatchObject([200, { number: 1, stable: true }]);
    expect(await stableOf(service)).toEqual([1]);
    expect((await promote("a", "3")).body.version.number).toBe(3);
    expect((await promote("a", 3)).status).toBe(200);
    for (const number of [4, 999_999_999]) expect((await promote("a", number)).status).toBe(404);
    expect((await promote("nobody", 1)).status).toBe(404);
    expect(await stableOf(service)).toEqual([3]);
    const entry = (kind: string, before: number | null, after: number) => ({ kind, before, after });
    expect(await audited()).toEqual([
      entry("promotion", null, 1),
      entry("promotion", 1, 2),
      entry("promotion", 2, 3),
      entry("rollback", 3, 1),
      entry("rollback", 1, 3),
      entry("rollback", 3, 3),
    ]);
  });

  it("are not repeated: a draft with the texts of an earlier one makes that stable again", async () => {
    const service = await startPromotion(engine);
    const { commit, promote } = service;
    await promoteDrafts(service, 2);
    expect((await promote("a")).body.version.number).toBe(2);
    await commit({ [specFile]: text(1) });
    expect((await promote("a")).body.version.number).toBe(1);
    await promote("a", 2);
    expect((await promote("a")).body.version.number).toBe(1);
    await commit({ [specFile]: text(3) });
    expect((await promote("a")).body.version.number).toBe(3);
    expect(await stableOf(service)).toEqual([3]);
  });

  it("stay listed when the agent is deleted, and count again when it comes back", async () => {
    const service = await startPromotion(engine);
    const { commit, promote } = service;
    await promoteDrafts(service, 2);
    await commit({ [specFile]: null });
    expect((await versions(service)).map(({ number }) => number)).toEqual([2, 1]);
    for (const version of ["draft", 1]) expect((await promote("a", version)).status).toBe(404);
    await commit({ [specFile]: text(3) });
    expect(await stableOf(service)).toEqual([2]);
    expect((await promote("a")).body.version.number).toBe(3);
  });

  it("cannot go back to what this release cannot run", async () => {
    const service = await startPromotion(engine);
    await promoteDrafts(service, 2);
    const { db } = service;
    await db
      .writer("agent_specs")
      .where({ sha: sha256(text(1)) })
      .update({ content: "name: a" });
    expect((await service.promote("a", 1)).status).toBe(422);
    expect(await stableOf(service)).toEqual([2]);
  });

  it("are promoted once for one Idempotency-Key, whatever the draft is by then", async () => {
    const service = await startPromotion(engine);
    const { commit, promote, audited } = service;
    const once = (key: string) => promote("a", "draft", { headers: { "idempotency-key": key } });
    await commit({ [specFile]: text(1) });
    const twins = await Promise.all([1, 2, 3, 4].map(() => once("one")));
    expect(new Set(twins.map(({ status, body }) => `${status} ${JSON.stringify(body)}`)).size).toBe(1);
    await commit({ [specFile]: text(2) });
    const repeated = await once("one");
    expect([repeated.body, repeated.headers.get("idempotency-replayed")]).toEqual([twins[0]?.body, "true"]);
    expect(await audited()).toHaveLength(1);
    await commit({ "agents/ai-sdk/a.eval.yaml": evals("x") });
    expect((await once("two")).status).toBe(409);
    await commit({ "agents/ai-sdk/a.eval.yaml": null });
    expect((await once("two")).status).toBe(409);
    expect((await once("three")).body.version.number).toBe(2);
  });

  it("are promoted by operators and read by viewers", async () => {
    const service = await startPromotion(engine);
    const { addMember, call, commit, promote } = service;
    await commit({ [specFile]: text(1) });
    const [viewer, operator] = [await addMember("vera", "viewer"), await addMember("otto", "operator")];
    expect((await promote("a", "draft", { key: viewer })).status).toBe(403);
    expect((await promote("a", "draft", { key: operator })).body.version.promotedBy).toBe("otto");
    expect((await call("GET", "/agents/a/versions", { key: viewer })).status).toBe(200);
  });
});

describe.each(databases())("promotions at once on %s", (engine) => {
  // A connection to SQLite waits for another one's transaction by blocking its process, and here both are one.
  const process = (index: number) => ({ process: engine === "mysql" && index % 2 === 1 ? 1 : 0 }) as const;
  const times = (count: number) => Array.from({ length: count }, (_, index) => index);

  it("make one snapshot of one draft", async () => {
    const service = await startPromotion(engine);
    for (let n = 1; n <= 5; n++) {
      await service.commit({ [specFile]: text(n) });
      const answers = await Promise.all(times(12).map((i) => service.promote("a", "draft", process(i))));
      expect(answers.map(({ status, body }) => [status, body.version.number])).toEqual(
        times(12).map(() => [200, n]),
      );
      expect(await stableOf(service)).toEqual([n]);
    }
    expect((await versions(service)).map(({ number }) => number)).toEqual([5, 4, 3, 2, 1]);
  });

  it("leave no gap, no twin and one stable version while commits go on", async () => {
    const service = await startPromotion(engine);
    const { commit, promote } = service;
    await commit({ [specFile]: text(0), "agents/ai-sdk/b.yaml": spec("b") });
    const committing = (async () => {
      for (let n = 1; n <= 15; n++) await commit({ [specFile]: text(n) });
    })();
    const answers = await Promise.all([
      ...times(20).map((i) => promote("a", "draft", process(i))),
      ...times(20).map((i) => promote("b", "draft", process(i))),
    ]);
    await committing;
    const last = await promote("a");
    expect([...answers, last].map(({ status }) => status).filter((s) => s !== 200 && s !== 409)).toEqual([]);
    const made = await versions(service);
    expect(made.map(({ number }) => number)).toEqual(times(made.length).map((i) => made.length - i));
    expect(new Set(made.map(({ specSha }) => specSha)).size).toBe(made.length);
    expect(await stableOf(service)).toEqual([last.body.version.number]);
    expect((await versions(service, "b")).map(({ number, stable }) => [number, stable])).toEqual([[1, true]]);
  });

  it("leave one stable version and a chain of audit entries when they go back and forth", async () => {
    const service = await startPromotion(engine);
    await promoteDrafts(service, 4);
    const answers = await Promise.all(
      times(24).map((i) => service.promote("a", i % 5 === 0 ? "draft" : i % 5, process(i))),
    );
    expect(answers.map(({ status }) => status)).toEqual(times(24).map(() => 200));
    const changes = (await service.audited()) as { before: number | null; after: number }[];
    expect(changes).toHaveLength(28);
    expect(await stableOf(service)).toHaveLength(1);
    // Ids of two processes have no order within a millisecond, but the entries form one chain all the same.
    const count = (numbers: (number | null)[]) => numbers.map(String).sort();
    const [stable = null] = await stableOf(service);
    expect(count([...changes.map(({ before }) => before), stable])).toEqual(
      count([null, ...changes.map(({ after }) => after)]),
    );
  });
});
