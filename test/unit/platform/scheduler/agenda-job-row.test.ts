import { type JobParameters, toJobId } from "agenda";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  definitionColumns,
  jobOf,
  stateColumns,
  uniqueKeyOf,
} from "../../../../src/platform/scheduler/agenda-job-row.ts";

const date = fc.date({ noInvalidDate: true, min: new Date(0), max: new Date("2100-01-01") });
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });

const anyJob: fc.Arbitrary<JobParameters> = fc.record({
  _id: fc.uuid().map(toJobId),
  name: fc.string({ minLength: 1 }),
  priority: fc.integer({ min: -20, max: 20 }),
  type: fc.constantFrom("normal", "single"),
  nextRunAt: fc.option(date),
  lockedAt: maybe(date),
  disabled: fc.boolean(),
  data: fc.jsonValue(),
  repeatInterval: maybe(fc.oneof(fc.string(), fc.nat())),
  repeatTimezone: maybe(fc.string()),
  startDate: maybe(date),
  endDate: maybe(date),
  skipDays: maybe(fc.array(fc.integer({ min: 0, max: 6 }))),
  fork: maybe(fc.boolean()),
  lastRunAt: maybe(date),
  lastFinishedAt: maybe(date),
  failedAt: maybe(date),
  failCount: maybe(fc.nat()),
  failReason: maybe(fc.string()),
  progress: maybe(fc.nat({ max: 100 })),
});

describe("a job of Agenda as a row", () => {
  it("comes back as it went in", () => {
    fc.assert(
      fc.property(anyJob, (job) => {
        const row = {
          id: String(job._id),
          name: job.name,
          unique_key: null,
          ...definitionColumns(job),
          ...stateColumns(job),
        };
        // As JSON keeps it: -0 is 0 there.
        expect(jobOf(row)).toEqual({ ...job, data: JSON.parse(JSON.stringify(job.data)) });
      }),
    );
  });

  it("keeps apart what an author sets from what an execution does", () => {
    fc.assert(
      fc.property(anyJob, (job) => {
        const { definition } = definitionColumns(job);
        expect(JSON.parse(definition)).not.toHaveProperty("lastRunAt");
        expect(JSON.parse(stateColumns(job).state)).not.toHaveProperty("data");
      }),
    );
  });

  it("is unique by name and constraint, in whatever order that is written", () => {
    const job = { name: "wake-up", priority: 0, nextRunAt: null, type: "normal", data: {} } as const;
    const key = (unique: Record<string, unknown>, name = job.name as string) =>
      uniqueKeyOf({ ...job, name, unique });
    expect(uniqueKeyOf(job)).toBeNull();
    expect(key({ a: 1, b: 2 })).toBe(key({ b: 2, a: 1 }));
    expect(new Set([key({ a: 1 }), key({ a: 2 }), key({ b: 1 }), key({ a: 1 }, "epoch")]).size).toBe(4);
    expect(uniqueKeyOf({ ...job, type: "single" })).toBe(uniqueKeyOf({ ...job, type: "single", data: 1 }));
  });
});
