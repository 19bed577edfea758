import { afterEach, beforeAll, expect } from "vitest";
import { type TestApp, useApp } from "./app.ts";
import { tableNames } from "./databases.ts";
import type { RawAnswer } from "./raw-request.ts";

/**
 * The service for tests that send it what it must refuse: after each of them no table may have another number
 * of rows than before the first, and no line of the log may hold what a terminal acts on.
 */
export function useUntouchedApp(): () => TestApp {
  const app = useApp();
  let before: Record<string, number>;
  let lines = 0;
  beforeAll(async () => {
    before = await countRows(app());
  });
  afterEach(async () => {
    const added = app().logs().slice(lines);
    lines += added.length;
    expectCleanLog(added);
    expect(await countRows(app())).toEqual(before);
  });
  return app;
}

/** Rows of each table, apart from those that count calls. */
export async function countRows({ db }: Pick<TestApp, "db">): Promise<Record<string, number>> {
  // The latter are the clock's own notes, which it makes whenever it looks.
  const left = ["rate_limits", "agenda_jobs"];
  const tables = (await tableNames(db)).filter((table) => !left.includes(table));
  // One statement: this is asked thousands of times.
  const counts = tables.map((table) => `(SELECT COUNT(*) FROM ${table}) AS ${table}`);
  const found = await db.read.raw(`SELECT ${counts.join(", ")}`);
  const [row]: Record<string, number>[] = db.engine === "mysql" ? found[0] : found;
  return { ...row };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const unsafe = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]|\n(?!$)/;

/** Each line is one JSON object, and nothing in it is raw that was not printable in what it tells of. */
export function expectCleanLog(lines: readonly string[]): void {
  for (const line of lines) {
    expect(line).not.toMatch(unsafe);
    expect(JSON.parse(line)).toMatchObject({ level: expect.any(String), msg: expect.any(String) });
  }
}

/** Signs of the inside: frames of a stack, paths of files, SQL, names of the driver. */
const inside = /\bat \S+ \(|node_modules|\.ts:\d|\b(?:select|insert into|update) `|SQLITE|knex|ZodError/i;

/** Such as ER_DUP_ENTRY. Told from ids that tests make up, which answers repeat, by its length and its capitals. */
const driverCode = /\bER_[A-Z]{3,}_[A-Z]{3,}/;

/** Checks the one shape of all errors. `what` names the request when the check fails. */
export function expectError(answer: RawAnswer, status: number | readonly number[], what = ""): void {
  const wanted = typeof status === "number" ? [status] : status;
  expect(wanted, `${what}: ${answer.status} ${answer.body.slice(0, 300)}`).toContain(answer.status);
  expect(answer.headers["content-type"], what).toBe("application/json; charset=utf-8");
  expect(answer.headers["x-request-id"], what).toMatch(/^[\w.-]+$/);
  expect(answer.body, what).not.toMatch(inside);
  expect(answer.body, what).not.toMatch(driverCode);
  const body = JSON.parse(answer.body);
  expect(
    Object.keys(body).filter((name) => name !== "details"),
    what,
  ).toEqual(["error"]);
  expect(body.error, what).toMatch(/^\S.*\.$/su);
}
