import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { type ObjectType, objectId } from "../object-id.ts";
import { inflateExactly, inflateStart } from "./inflate.ts";
import { type GitObject, type ObjectRead, openPack, type Pack } from "./pack.ts";

/** No object with this id is in the repository. */
export class ObjectMissing extends Error {
  readonly id: string;

  constructor(id: string) {
    super(`object ${id} is missing`);
    this.id = id;
  }
}

export interface ObjectStore {
  /** Reads a whole object and checks it against its id. Throws ObjectMissing, or another error on damage. */
  read(id: string, type: ObjectType): Promise<Uint8Array>;
  /** As `read`, but undefined, mostly without inflating it, when the object has more than `maxBytes`. */
  readUpTo(id: string, type: ObjectType, maxBytes: number): Promise<Uint8Array | undefined>;
  /** Gives the files back. A store sees the packs that were there when it first looked: it is not for keeps. */
  close(): Promise<void>;
}

const LOOSE_FIRST_READ = 4096;
/** No tree or commit of a sane repository comes near; a forged size must not take the memory. */
const STRUCTURE_BYTES = 128 * 1024 * 1024;

/** Loose and packed objects of the given `objects` directories: the repository's own and its alternates. */
export function createObjectStore(directories: readonly string[]): ObjectStore {
  let packs: Promise<Pack[]> | undefined;
  const openPacks = () => {
    packs ??= Promise.all(directories.map(openPacksIn)).then((found) => found.flat());
    return packs;
  };

  async function find(id: string, maxBytes: number): Promise<ObjectRead> {
    for (const directory of directories) {
      const found = await readLoose(join(directory, id.slice(0, 2), id.slice(2)), maxBytes);
      if (found !== undefined) return found;
    }
    const key = Buffer.from(id, "hex");
    for (const pack of await openPacks()) {
      const found = await pack.read(key, maxBytes);
      if (found !== undefined) return found;
    }
    throw new ObjectMissing(id);
  }

  async function readUpTo(id: string, type: ObjectType, maxBytes: number) {
    const found = await find(id, maxBytes);
    if ("tooLarge" in found) return undefined;
    if (objectId(found.type, found.bytes) !== id) throw new Error(`object ${id} is damaged`);
    if (found.type !== type) throw new Error(`object ${id} is a ${found.type}, not a ${type}`);
    return found.bytes;
  }

  return {
    readUpTo,
    async read(id, type) {
      const bytes = await readUpTo(id, type, STRUCTURE_BYTES);
      if (bytes === undefined) throw new Error(`object ${id} is larger than any ${type} should be`);
      return bytes;
    },
    async close() {
      const opened = await packs?.catch(() => []);
      await Promise.all((opened ?? []).map((pack) => pack.close()));
    },
  };
}

async function openPacksIn(directory: string): Promise<Pack[]> {
  const folder = join(directory, "pack");
  const names = await readdir(folder).catch(absent);
  const indexes = (names ?? []).filter((name) => name.endsWith(".idx"));
  const opened = await Promise.allSettled(indexes.map((name) => openPack(join(folder, name))));
  const packs = opened.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  const failed = opened.find((result) => result.status === "rejected");
  if (failed !== undefined) {
    await Promise.all(packs.map((pack) => pack.close()));
    throw failed.reason;
  }
  return packs;
}

async function readLoose(path: string, maxBytes: number): Promise<ObjectRead | undefined> {
  const file = await open(path).catch(absent);
  if (file === undefined) return undefined;
  try {
    const head = Buffer.allocUnsafe(LOOSE_FIRST_READ);
    const { bytesRead } = await file.read(head, 0, LOOSE_FIRST_READ, 0);
    const { type, size, headerBytes } = parseHeader(inflateStart(head.subarray(0, bytesRead)), path);
    if (size > maxBytes) return { tooLarge: true };
    const whole = bytesRead < LOOSE_FIRST_READ ? head.subarray(0, bytesRead) : await file.readFile();
    const inflated = await inflateExactly(whole, headerBytes + size);
    return { type, bytes: inflated.subarray(headerBytes) } satisfies GitObject;
  } finally {
    await file.close();
  }
}

/** `blob 1234` and a NUL, before the content. */
function parseHeader(bytes: Buffer, path: string): { type: ObjectType; size: number; headerBytes: number } {
  const end = bytes.indexOf(0);
  const match = /^(commit|tree|blob|tag) (\d{1,15})$/.exec(bytes.toString("latin1", 0, Math.max(end, 0)));
  if (match === null) throw new Error(`${path} is no Git object`);
  return { type: match[1] as ObjectType, size: Number(match[2]), headerBytes: end + 1 };
}

/** Nothing there is an answer; everything else is a failure. */
function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
  throw error;
}
