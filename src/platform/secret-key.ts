import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * The sealing key of an embedded installation: made once in the data directory, readable by its owner only.
 * Of two processes that start together the second reads what the first has written.
 */
export function secretKeyOf(home: string): string {
  const path = join(home, "secret.key");
  mkdirSync(home, { recursive: true, mode: 0o700 });
  try {
    writeFileSync(path, `${randomBytes(32).toString("base64url")}\n`, { mode: 0o600, flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  return readFileSync(path, "utf8").trim();
}
