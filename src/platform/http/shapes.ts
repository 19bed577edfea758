import { z } from "zod";

/**
 * Free text of a request: any characters but NUL and halves of surrogate pairs, which no database would give
 * back as they came.
 */
export const text = (max: number) =>
  z
    .string()
    .max(max)
    .refine((value) => value.isWellFormed(), "Remove the lone surrogate; it is not valid Unicode.")
    .refine((value) => !value.includes("\0"), "Remove the NUL character.");

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
const notInALine = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/;

/** One line of text for people: not blank, without control characters and what turns the direction of writing. */
export const line = (max: number) =>
  text(max)
    .refine((value) => value.trim() !== "", "Write at least one visible character.")
    .refine((value) => !notInALine.test(value), "Remove the control characters.");

/** RFC 3339 in UTC. */
export const Instant = z.string().meta({ format: "date-time" });

export const Limit = z
  .string()
  .regex(/^\d{1,4}$/, "Use a whole number from 1 to 200.")
  .transform(Number)
  .pipe(z.int().min(1).max(200))
  .prefault("50");

/** Where a page goes on: the last id of the page before. */
export const Before = z.string().regex(/^[\w-]{1,64}$/, "Use the nextBefore of the page before.");

/** Seconds that a request may wait for something to end. */
export const WaitSeconds = z
  .string()
  .regex(/^\d{1,2}$/, "Use whole seconds from 0 to 60.")
  .transform(Number)
  .pipe(z.int().min(0).max(60));

/** Query of a paged list: newest first, `before` is the last id of the page before. */
export const Page = z.strictObject({
  limit: Limit.describe("Records on a page, 1 to 200."),
  before: Before.optional(),
});

/** Cuts a page from `limit + 1` records and tells where the next one begins. */
export function toPage<T extends { id: string }>(
  records: readonly T[],
  limit: number,
): { page: T[]; nextBefore: string | null } {
  const page = records.slice(0, limit);
  return { page, nextBefore: records.length > limit ? (page.at(-1)?.id ?? null) : null };
}
