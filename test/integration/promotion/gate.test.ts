import { describe, expect, it } from "vitest";
import { sha256 } from "../../../src/platform/secrets.ts";
import { databases } from "../../support/databases.ts";
import { evals, spec, startPromotion } from "./promotion-service.ts";

const specFile = "agents/ai-sdk/a.yaml";
const evalFile = "agents/ai-sdk/a.eval.yaml";
const secondEvalFile = "agents/ai-sdk/a.eval.json";
const passed = (evalId: string) => ({ status: "passed" as const, evalId });
const failed = (evalId: string) => ({ status: "failed" as const, evalId });

describe.each(databases())("the gate on %s", (engine) => {
  it("opens for the texts that passed, and closes again for a changed spec and a changed eval file", async () => {
    const { commit, judge, promote } = await startPromotion(engine);
    const [one, two] = [spec("a", "One."), spec("a", "Two.")];
    const [x, y] = [evals("x"), evals("y")];
    const head = await commit({ [specFile]: one, [evalFile]: x });

    const missing = await promote("a");
    expect([missing.status, missing.body.details]).toEqual([409, { reason: "evals_missing" }]);
    expect(missing.body.error).toContain("POST /evals");

    // Suites of the same spec with other evals, of other specs, and of another agent vouch for nothing.
    judge("a", one, y, passed("evl_0"));
    judge("a", two, x, passed("evl_0"));
    judge("b", one, x, passed("evl_0"));
    expect((await promote("a")).body.details).toEqual({ reason: "evals_missing" });

    judge("a", one, x, failed("evl_1"));
    const refused = await promote("a");
    expect([refused.status, refused.body.details]).toEqual([
      409,
      { reason: "evals_failed", evalId: "evl_1" },
    ]);
    expect(refused.body.error).toContain("/evals/evl_1");

    judge("a", one, x, passed("evl_2"));
    const first = await promote("a");
    expect(first.status).toBe(200);
    expect(first.body).toEqual({
      agent: "a",
      version: {
        number: 1,
        stable: true,
        framework: "ai-sdk",
        specSha: sha256(one),
        evalSha: sha256(x),
        commitSha: head,
        createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
        promotedBy: "admin",
        evalId: "evl_2",
      },
    });

    await commit({ [evalFile]: evals("z") });
    expect((await promote("a")).body.details).toEqual({ reason: "evals_missing" });
    await commit({ [evalFile]: y });
    expect((await promote("a")).body.version).toMatchObject({ number: 2, specSha: sha256(one) });

    await commit({ [specFile]: two });
    expect((await promote("a")).body.details).toEqual({ reason: "evals_missing" });
    await commit({ [evalFile]: x });
    expect((await promote("a")).body.version).toMatchObject({ number: 3, specSha: sha256(two) });
  });

  it("keeps what is stable so when its evals are run again and fail", async () => {
    const { commit, judge, promote, audited } = await startPromotion(engine);
    await commit({ [specFile]: spec("a"), [evalFile]: evals("x") });
    judge("a", spec("a"), evals("x"), passed("evl_1"));
    const first = await promote("a");
    judge("a", spec("a"), evals("x"), failed("evl_2"));
    const again = await promote("a", "draft");
    expect([again.status, again.body]).toEqual([200, first.body]);
    await commit({ [evalFile]: null });
    await promote("a");
    await commit({ [evalFile]: evals("x") });
    expect((await promote("a")).body.details).toEqual({ reason: "evals_failed", evalId: "evl_2" });

    // The snapshot tells which suite it was made under, the audit log which one let it pass this time.
    judge("a", spec("a"), evals("x"), passed("evl_3"));
    expect((await promote("a")).body).toEqual(first.body);
    expect(await audited()).toEqual([
      { kind: "promotion", before: null, after: 1, evalId: "evl_1" },
      { kind: "promotion", before: 1, after: 1 },
      { kind: "promotion", before: 1, after: 2 },
      { kind: "promotion", before: 2, after: 1, evalId: "evl_3" },
    ]);
  });

  it("is open without an eval file, and closed by one that is broken or double", async () => {
    const { commit, promote } = await startPromotion(engine);
    await commit({ [specFile]: spec("a") });
    const open = await promote("a");
    expect([open.status, open.body.version]).toMatchObject([200, { number: 1, evalSha: null, evalId: null }]);

    // The spec is still the one that is stable; what belongs to it is not.
    const one = { name: "one", input: "x", assert: { contains: "x" } };
    const changes: Record<string, string | null>[] = [
      { [evalFile]: "cases:\n  - name: one\n" },
      { [evalFile]: evals("x"), [secondEvalFile]: JSON.stringify({ cases: [one] }) },
      { [evalFile]: `# ${"x".repeat(200_000)}\n`, [secondEvalFile]: null },
    ];
    for (const change of changes) {
      await commit(change);
      const { status, body } = await promote("a");
      const problems = [expect.objectContaining({ message: expect.any(String), line: expect.any(Number) })];
      expect([status, body.details]).toEqual([409, { reason: "eval_file_invalid", problems }]);
    }
    await commit({ [evalFile]: null });
    expect((await promote("a")).body.version.number).toBe(1);
  });

  it("refuses drafts that are not valid with their problems, and agents that are not there", async () => {
    const { commit, promote } = await startPromotion(engine);
    await commit({
      [specFile]: "name: a\nframework: ai-sdk\n",
      "agents/ai-sdk/twin.yaml": spec("twin"),
      "agents/ai-sdk/twin.json": "{}",
    });
    for (const name of ["a", "twin"]) {
      const { status, body } = await promote(name);
      expect([name, status]).toEqual([name, 422]);
      expect(body.details.problems.length).toBeGreaterThan(0);
    }
    for (const name of ["nobody", "A", "a%20", "x".repeat(255)])
      expect((await promote(name)).status).toBe(404);
    for (const version of ["stable", "latest", "0", "01", 0, -1, 1.5, null, "1000000000", 1e9, {}])
      expect([version, (await promote("a", version)).status]).toEqual([version, 400]);
  });

  it("promotes the last known good draft of a repository that is away, and says so", async () => {
    const { commit, loseRepository, promote } = await startPromotion(engine);
    const head = await commit({ [specFile]: spec("a") });
    await loseRepository();
    const { status, body } = await promote("a");
    expect([status, body.version]).toMatchObject([200, { number: 1, commitSha: head }]);
    expect(body.warning).toMatch(/could not be read.*\d{4}-\d\d-\d\dT/);
  });
});

describe.each(databases())("a commit during a promotion on %s", (engine) => {
  it("has the new draft checked: what was not evaluated does not become stable", async () => {
    const { commit, judge, beforeVerdict, promote, call } = await startPromotion(engine);
    await commit({ [specFile]: spec("a", "Good."), [evalFile]: evals("x") });
    judge("a", spec("a", "Good."), evals("x"), passed("evl_1"));
    beforeVerdict(async (asked) => asked === 1 && commit({ [specFile]: spec("a", "Unknown.") }));
    const { status, body } = await promote("a");
    expect([status, body.details]).toEqual([409, { reason: "evals_missing" }]);
    expect((await call("GET", "/agents/a/versions")).body.versions).toEqual([]);
  });

  it("has the new draft promoted when that passed as well, under the suite that it passed", async () => {
    const { commit, judge, beforeVerdict, promote } = await startPromotion(engine);
    await commit({ [specFile]: spec("a", "One."), [evalFile]: evals("x") });
    judge("a", spec("a", "One."), evals("x"), passed("evl_1"));
    judge("a", spec("a", "Two."), evals("x"), passed("evl_2"));
    let head = "";
    beforeVerdict(async (asked) => {
      if (asked === 1) head = await commit({ [specFile]: spec("a", "Two.") });
    });
    const version = { number: 1, specSha: sha256(spec("a", "Two.")), evalId: "evl_2", commitSha: head };
    expect((await promote("a")).body.version).toMatchObject({ ...version, commitSha: head });
  });

  it("that breaks, deletes or ungates the draft is heeded", async () => {
    const { commit, judge, beforeVerdict, promote, db } = await startPromotion(engine);
    const good = { [specFile]: spec("a"), [evalFile]: evals("x") };
    judge("a", spec("a"), evals("x"), passed("evl_1"));
    for (const [change, status] of [
      [{ [specFile]: "name: a" }, 422],
      [{ [specFile]: null, [evalFile]: null }, 404],
      [{ [evalFile]: "cases: []" }, 409],
      [{ [evalFile]: null }, 200],
    ] as const) {
      beforeVerdict(async () => {});
      await commit(good);
      beforeVerdict(() => commit(change));
      expect((await promote("a")).status).toBe(status);
    }
    expect(await db.read("agent_versions").select("number", "eval_sha", "eval_id")).toEqual([
      { number: 1, eval_sha: null, eval_id: null },
    ]);
  });

  it("after another does not go on for ever", async () => {
    const { commit, judge, beforeVerdict, promote } = await startPromotion(engine);
    const text = (n: number) => spec("a", `Number ${n}.`);
    for (let n = 0; n < 20; n++) judge("a", text(n), evals("x"), passed(`evl_${n}`));
    await commit({ [specFile]: text(0), [evalFile]: evals("x") });
    beforeVerdict((asked) => commit({ [specFile]: text(asked) }));
    const { status, body } = await promote("a");
    expect([status, body.error]).toEqual([409, expect.stringContaining("keeps changing")]);
    beforeVerdict(async () => {});
    expect((await promote("a")).body.version.number).toBe(1);
  });
});
