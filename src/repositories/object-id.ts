import { createHash } from "node:crypto";

/** Kinds of Git object that a reader meets. */
export type ObjectType = "commit" | "tree" | "blob" | "tag";

/** Id (40 hex digits) that Git gives to such an object: the proof that the bytes are whole and exact. */
export function objectId(type: ObjectType, bytes: Uint8Array): string {
  return createHash("sha1").update(`${type} ${bytes.length}\0`).update(bytes).digest("hex");
}
