import type { JobParameters, JobRepository } from "agenda";
import { beforeEach, describe, expect, it } from "vitest";
import { createSqlRepository } from "../../../src/platform/scheduler/sql-repository.ts";
import { databases, useDatabase } from "../../support/databases.ts";

describe.each(databases())("Agenda's repository on %s", (engine) => {
  const database = useDatabase(engine);
  let repository: JobRepository;
  beforeEach(() => {
    repository = createSqlRepository(database.db);
  });

  const long = new Date(0);
  const soon = () => new Date(Date.now() + 1_000);
  const save = (job: Partial<JobParameters>) =>
    repository.saveJob(
      { name: "job", priority: 0, type: "normal", nextRunAt: new Date(), data: {}, ...job },
      undefined,
    );
  const next = (name = "job") => repository.getNextJobToRun(name, soon(), long, undefined, undefined);

  it("gives each due job to one of many that ask, the first due and most urgent first", async () => {
    const at = Date.now() - 10_000;
    for (const [index, priority] of [0, 10, 5, 0, 0].entries())
      await save({ data: { index }, priority, nextRunAt: new Date(index === 0 ? at - 1 : at) });
    await save({ data: { index: 9 }, nextRunAt: new Date(Date.now() + 60_000) });
    const first = [await next(), await next(), await next()];
    expect(first.map((job) => job?.data)).toEqual([{ index: 0 }, { index: 1 }, { index: 2 }]);
    const rest = await Promise.all(Array.from({ length: 8 }, () => next()));
    expect(rest.flatMap((job) => job?._id ?? [])).toHaveLength(2);
    expect(new Set([...first, ...rest].flatMap((job) => job?._id ?? [])).size).toBe(5);
  });

  it("gives a locked job again only when its lock is old, and to one", async () => {
    await save({});
    const job = await next();
    expect(await next()).toBeUndefined();
    const after = new Date((job?.lockedAt?.getTime() ?? 0) + 1);
    const again = () => repository.getNextJobToRun("job", soon(), after, new Date(after.getTime() + 1), {});
    const taken = await Promise.all([again(), again(), again()]);
    expect(taken.flatMap((each) => each?._id ?? [])).toEqual([job?._id]);
  });

  it("locks by hand only what is free and unchanged", async () => {
    const job = await save({ nextRunAt: new Date(Date.now() + 60_000) });
    expect(await repository.lockJob({ ...job, nextRunAt: new Date() }, undefined)).toBeUndefined();
    const tries = [repository.lockJob(job, undefined), repository.lockJob(job, undefined)];
    expect((await Promise.all(tries)).filter((each) => each !== undefined)).toHaveLength(1);
    await repository.unlockJob(job);
    expect(await repository.lockJob(job, undefined)).toMatchObject({ _id: job._id });
  });

  it("inserts a unique job once, however many save it at the same moment", async () => {
    const unique = { "data.bucket": 1 };
    const saves = Array.from({ length: 10 }, () =>
      save({ data: { bucket: 1 }, unique, uniqueOpts: { insertOnly: true }, nextRunAt: new Date(5_000) }),
    );
    expect(new Set((await Promise.all(saves)).map((job) => job._id)).size).toBe(1);
    await save({ data: { bucket: 1 }, unique, uniqueOpts: { insertOnly: true }, nextRunAt: new Date(9_000) });
    const { jobs, total } = await repository.queryJobs();
    expect(total).toBe(1);
    expect(jobs[0]?.nextRunAt).toEqual(new Date(5_000));
    await save({ data: { bucket: 1 }, unique, nextRunAt: new Date(9_000) });
    expect((await repository.queryJobs()).jobs.map((job) => job.nextRunAt)).toEqual([new Date(9_000)]);
  });

  it("saves a job anew without taking its lock away", async () => {
    const job = await save({});
    await next();
    const saved = await repository.saveJob({ ...job, data: { changed: true } }, undefined);
    expect(saved.lockedAt).toBeInstanceOf(Date);
    expect(await repository.getJobById(String(job._id))).toMatchObject({ data: { changed: true } });
    await repository.removeJobs({ id: String(job._id) });
    expect(await repository.saveJob(job, undefined)).toEqual(job);
    expect(await repository.getJobById(String(job._id))).toBeNull();
  });

  it("does not postpone a single job that is overdue", async () => {
    const overdue = new Date(Date.now() - 60_000);
    await save({ type: "single", nextRunAt: overdue });
    await save({ type: "single", nextRunAt: new Date(), data: { again: true } });
    const { jobs } = await repository.queryJobs();
    expect(jobs).toMatchObject([{ nextRunAt: overdue, data: { again: true } }]);
  });

  it("tells that a job is gone instead of storing its state", async () => {
    const job = await save({});
    await repository.purgeAllJobs();
    await expect(repository.saveJobState(job, undefined)).rejects.toThrow("does not exist any more");
  });

  it("finds, pauses and removes by name, id and data, and nothing without a condition", async () => {
    const one = await save({ name: "a", data: { kind: "x", n: 1 } });
    await save({ name: "a", data: { kind: "y", n: 2 } });
    await save({ name: "b", data: { kind: "x" }, nextRunAt: null, lastFinishedAt: new Date() });
    const names = async (options: Parameters<JobRepository["queryJobs"]>[0]) =>
      (await repository.queryJobs(options)).jobs.map((job) => job.name).sort();
    expect(await names({ data: { kind: "x" } })).toEqual(["a", "b"]);
    expect(await names({ name: "a", data: { kind: "x" } })).toEqual(["a"]);
    expect(await names({ state: "completed" })).toEqual(["b"]);
    expect(await names({ search: "B" })).toEqual(["b"]);
    expect(await repository.removeJobs({})).toBe(0);
    expect(await repository.disableJobs({ ids: [String(one._id)] })).toBe(1);
    expect(await next("a")).toMatchObject({ data: { n: 2 } });
    expect(await next("a")).toBeUndefined();
    expect(await repository.getJobsOverview()).toContainEqual(
      expect.objectContaining({ name: "a", total: 2, running: 1, paused: 1 }),
    );
    expect(await repository.enableJobs({ name: "a" })).toBe(2);
    expect(await next("a")).toMatchObject({ _id: one._id });
    expect(await repository.removeJobs({ notNames: ["b"] })).toBe(2);
    expect(await repository.getDistinctJobNames()).toEqual(["b"]);
    expect(await repository.getQueueSize()).toBe(0);
  });

  it("refuses to debounce", async () => {
    await expect(save({ uniqueOpts: { debounce: { delay: 1 } } })).rejects.toThrow("cannot be debounced");
  });
});
