import { type Foundation, layFoundation } from "../foundation.ts";
import { configuredProviders } from "../models/index.ts";
import { systemClock } from "../platform/clock.ts";
import type { Config } from "../platform/config.ts";
import { errorText } from "../platform/errors.ts";
import { createWakeUps } from "../platform/scheduler/index.ts";
import { openConfigured } from "./start.ts";

interface Finding {
  state: "ok" | "open" | "bad";
  text: string;
}

const marks = { ok: "ok  ", open: "open", bad: "BAD " } as const;

/** `rollcall doctor`: looks at everything that is configured. Returns 1 when something does not work. */
export async function doctorCommand(config: Config, print: (text: string) => void): Promise<number> {
  const findings = [...(await checkDatabase(config)), await checkRepository(config), ...checkModels(config)];
  for (const { state, text } of findings) print(`${marks[state]}  ${text}`);
  return findings.some(({ state }) => state === "bad") ? 1 : 0;
}

async function checkDatabase(config: Config): Promise<Finding[]> {
  try {
    const foundation = await layFoundation(config);
    const { db, access, firstKey } = foundation;
    const warnings = await db.warnings();
    const clock = await checkClock(foundation);
    await access.stop();
    await db.close();
    return [
      { state: "ok", text: "The database answers and is up to date." },
      ...(firstKey && !config.adminKey
        ? [{ state: "ok", text: `The first admin's API key, shown this once: ${firstKey}` } as const]
        : []),
      ...warnings.map((text) => ({ state: "bad", text }) as const),
      ...clock,
    ];
  } catch (error) {
    return [{ state: "bad", text: `The database cannot be used: ${errorText(error)}` }];
  }
}

/** Where the wake-ups of schedules are kept, when that is not the database. */
async function checkClock({ config, db, logger }: Foundation): Promise<Finding[]> {
  const { mongoUrl } = config;
  if (mongoUrl === undefined) return [];
  const wakeUps = createWakeUps({ db, logger, clock: systemClock, mongoUrl });
  await wakeUps.ensure([]);
  const { connected, error } = wakeUps.state();
  await wakeUps.stop();
  if (connected) return [{ state: "ok", text: "MongoDB answers; it wakes the schedules." }];
  const text = `MongoDB does not answer, so schedules fire up to half a minute late: ${error ?? "no reason is known"}`;
  return [{ state: "bad", text }];
}

async function checkRepository(config: Config): Promise<Finding> {
  try {
    const { reader } = await openConfigured(config);
    const commit = await reader.head();
    const entries = await reader.tree(commit);
    await reader.close();
    return {
      state: "ok",
      text: `The repository ${reader.label} is at ${commit.slice(0, 12)} with ${entries.length} files below agents/.`,
    };
  } catch (error) {
    return { state: "bad", text: `The repository cannot be read: ${errorText(error)}` };
  }
}

function checkModels(config: Config): Finding[] {
  return configuredProviders(config.modelKeys).map(({ provider, configured, hint }) =>
    configured
      ? { state: "ok", text: `Models of ${provider} are configured in the environment.` }
      : { state: "open", text: `Models of ${provider}: ${hint}` },
  );
}
