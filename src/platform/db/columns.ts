import type { z } from "zod";

/** JSON is kept as text on both engines and read back through a schema. */
export const toJson = (value: unknown): string => JSON.stringify(value);

/** Throws when the stored text does not fit the schema any more, which is a defect and not a user's mistake. */
export function fromJson<S extends z.ZodType>(schema: S, text: string): z.infer<S> {
  return schema.parse(JSON.parse(text));
}
