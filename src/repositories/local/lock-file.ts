import { randomUUID } from "node:crypto";
import { link, open, rename, rm, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { errorCode } from "../../platform/errors.ts";
import { readText } from "./git-directory.ts";

/** What is to become of one path of a working tree. Blob ids; `before` is null for a path that is new. */
const PathPlan = z.object({
  path: z.string(),
  before: z.string().nullable(),
  after: z.string(),
  mode: z.int(),
});
export type PathPlan = z.infer<typeof PathPlan>;

/** Stands in a lock file of ours, where Git has what the file is to be. */
const LockNote = z.object({
  rollcall: z.literal(1),
  token: z.string(),
  host: z.string(),
  /** 0: whoever had it has given up. */
  pid: z.int(),
  /** Epoch milliseconds: two processes may have one number after another. */
  startedAt: z.number(),
  plan: z.array(PathPlan),
});
type LockNote = z.infer<typeof LockNote>;

/** A lock file as Git's programs make and respect them; one that a crash left behind says so by its note. */
export interface LockFile {
  /** What a process that died with this lock may have left undone; empty in most cases. */
  left: readonly PathPlan[];
  /** Notes what is about to be done, so that whoever finds the lock after a crash can finish it. Throws LockLost. */
  note(plan: readonly PathPlan[]): Promise<void>;
  /** Puts a file with this content in its place, whole. Throws LockLost. */
  publish(path: string, content: string | Buffer): Promise<void>;
  release(): Promise<void>;
  /** Leaves lock and note to the next one who comes, because the work could not be finished. */
  abandon(): Promise<void>;
}

/** Somebody has removed or replaced the lock. */
export class LockLost extends Error {}

const TRIES = 20;
const WAIT_MS = 50;
/** No change of a few files takes that long; processes on other hosts cannot be asked whether they live. */
const STALE_MS = 600_000;
/** In this time whoever took over the same lock at the same moment has done so. */
const TAKEOVER_MS = 100;

interface LockPlace {
  path: string;
  /** A folder on the same file system for files that are not there yet. */
  drafts: string;
  /** Called before each try. */
  prepare?(): Promise<unknown>;
}

/** Takes a lock, also that of a process of ours that has died. Undefined while another process keeps it. */
export async function takeLock({
  path,
  drafts,
  prepare = async () => {},
}: LockPlace): Promise<LockFile | undefined> {
  const { pid } = process;
  const owner = { token: randomUUID(), host: hostname(), pid, startedAt: ownStart() };
  const note: LockNote = { rollcall: 1, ...owner, plan: [] };
  for (let tries = 1; tries <= TRIES; tries += 1) {
    await prepare();
    if (await create(path, drafts, note)) return heldLock(path, drafts, note);
    const found = await deadNote(path);
    if (found) {
      const inherited = { ...note, plan: found.plan };
      await put(path, drafts, JSON.stringify(inherited));
      await sleep(TAKEOVER_MS);
      if (await isOurs(path, note)) return heldLock(path, drafts, inherited);
    }
    await sleep(WAIT_MS);
  }
  return undefined;
}

/** Removes a lock that nobody will come back to: it was left by a process that died when its work was done. */
export async function removeDeadLock({ path, drafts }: LockPlace): Promise<void> {
  if (await deadNote(path)) await (await takeLock({ path, drafts }))?.release();
}

function heldLock(path: string, drafts: string, note: LockNote): LockFile {
  let { plan } = note;
  async function requireOurs(): Promise<void> {
    if (!(await isOurs(path, note))) throw new LockLost(`${path} is not the lock that was taken`);
  }
  return {
    left: note.plan,
    async note(next) {
      await requireOurs();
      plan = [...next];
      await put(path, drafts, JSON.stringify({ ...note, plan }));
    },
    async publish(target, content) {
      await requireOurs();
      await put(target, drafts, content);
    },
    async release() {
      if (await isOurs(path, note)) await rm(path, { force: true });
    },
    async abandon() {
      if (await isOurs(path, note)) await put(path, drafts, JSON.stringify({ ...note, plan, pid: 0 }));
    },
  };
}

/** The lock has its note from the first moment, or is not there. */
async function create(path: string, drafts: string, note: LockNote): Promise<boolean> {
  const draft = join(drafts, `rollcall-${note.token}`);
  const text = JSON.stringify(note);
  await writeNew(draft, text);
  try {
    // Some file systems have no hard links.
    await link(draft, path).catch((error) => {
      if (["EEXIST", "ENOENT"].includes(errorCode(error))) throw error;
      return writeNew(path, text);
    });
    return true;
  } catch (error) {
    // Git removes folders that it has emptied, also in between.
    if (["EEXIST", "ENOENT"].includes(errorCode(error))) return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

async function put(path: string, drafts: string, content: string | Buffer): Promise<void> {
  const draft = join(drafts, `rollcall-${randomUUID()}`);
  try {
    await writeNew(draft, content);
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

async function writeNew(path: string, content: string | Buffer): Promise<void> {
  const file = await open(path, "wx");
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function readNote(path: string): Promise<LockNote | undefined> {
  const text = await readText(path);
  if (text === undefined || !text.startsWith('{"rollcall":')) return undefined;
  return LockNote.safeParse(JSON.parse(text)).data;
}

const isOurs = async (path: string, { token }: LockNote) => (await readNote(path))?.token === token;

/** The note of a lock of ours whose process is gone. */
async function deadNote(path: string): Promise<LockNote | undefined> {
  const note = await readNote(path).catch(() => undefined);
  if (!note) return undefined;
  if (note.pid === 0) return note;
  const madeAt = (await stat(path).catch(() => undefined))?.mtimeMs;
  if (madeAt !== undefined && Date.now() - madeAt > STALE_MS) return note;
  if (note.host !== hostname()) return undefined;
  const isAlive = note.pid === process.pid ? note.startedAt === ownStart() : exists(note.pid);
  return isAlive ? undefined : note;
}

const ownStart = () => Math.round(performance.timeOrigin);

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) !== "ESRCH";
  }
}
