import { IntegrationFailure } from "../failure.ts";

interface Page<T> {
  items: T[];
  next_cursor?: string | null | undefined;
}

/** More pages than any list has; a cursor that never ends must not be followed for ever. */
const maxPages = 100;

/** All records of a list that comes in pages. */
export async function allPages<T>(read: (cursor: string | undefined) => Promise<Page<T>>): Promise<T[]> {
  const found: T[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < maxPages; pages++) {
    const { items, next_cursor } = await read(cursor);
    found.push(...items);
    if (!next_cursor || next_cursor === cursor) return found;
    cursor = next_cursor;
  }
  throw new IntegrationFailure("unavailable", "Composio's list does not end.");
}
