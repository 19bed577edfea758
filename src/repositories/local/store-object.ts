import { randomUUID } from "node:crypto";
import { mkdir, open, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { deflate } from "node:zlib";
import { type ObjectType, objectId } from "../object-id.ts";

const compress = promisify(deflate);
const READ_ONLY = 0o444;

/**
 * Stores a loose object and answers its id. The file appears whole or not at all, and is on disk before anything
 * refers to it.
 */
export async function storeObject(objects: string, type: ObjectType, bytes: Uint8Array): Promise<string> {
  const id = objectId(type, bytes);
  const path = join(objects, id.slice(0, 2), id.slice(2));
  if (await isThere(path)) return id;
  await mkdir(dirname(path), { recursive: true });
  const draft = join(dirname(path), `tmp_obj_${randomUUID()}`);
  try {
    const file = await open(draft, "wx", READ_ONLY);
    try {
      await file.writeFile(await compress(Buffer.concat([Buffer.from(`${type} ${bytes.length}\0`), bytes])));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  return id;
}

const isThere = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  );
