import type { Logger } from "../platform/logger.ts";
import { createNewestKept } from "../platform/newest-kept.ts";
import type { Redactor } from "../platform/redact.ts";
import type { Sealer } from "../platform/secrets.ts";
import type { Stored } from "./model-keys.ts";

/** Where a secret is kept; a sealed text opens at no other place. */
export function sealingContext(workspaceId: string, name: string): string {
  return `settings:${workspaceId}:${name}`;
}

/** Texts that are kept open; far more than a workspace has secrets. */
const limit = 200;

/**
 * Opens sealed settings and remembers the newest ones, since every run asks for them. What was opened is
 * registered at the redactor. A text that does not open is logged once and reported as broken.
 */
export function createSecretReader({
  sealer,
  redactor,
  logger,
}: {
  sealer: Sealer;
  redactor: Redactor;
  logger: Logger;
}) {
  const kept = createNewestKept<NonNullable<Stored>>(limit);

  function open(sealed: string, context: string): NonNullable<Stored> {
    try {
      const value = sealer.open(sealed, context);
      redactor.register(value);
      return { value };
    } catch (error) {
      logger.error({ err: error, setting: context }, "sealed setting cannot be opened; set it again");
      return { broken: true };
    }
  }

  return (sealed: string, workspaceId: string, name: string): NonNullable<Stored> => {
    const context = sealingContext(workspaceId, name);
    return kept(`${context}\n${sealed}`, () => open(sealed, context));
  };
}
