import { randomBytes, randomInt } from "node:crypto";
import { existsSync, rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createTestRepository } from "../test/support/git-repository.ts";
import { type MongoForTest, mongoTitle, startMongo } from "../test/support/mongo-server.ts";
import { createClocks, findFakeTime } from "./chaos/clocks.ts";
import { type ChaosDatabase, openChaosDatabase } from "./chaos/database.ts";
import { doHarm } from "./chaos/faults.ts";
import {
  isKept,
  judge,
  type LedgerAutomation,
  type LedgerFire,
  type LedgerRun,
  type Verdict,
} from "./chaos/ledger.ts";
import { createRandom } from "./chaos/random.ts";
import { createService, type Service } from "./chaos/service.ts";
import { createTeam } from "./chaos/team.ts";

const usage = `node scripts/chaos-schedules.ts [--seconds 60] [--seed N] [--speed 20] [--mongo]

Three processes of the built service on one MySQL are killed, frozen, cut off and given wrong clocks while their
automations are due every minute. Afterwards every occurrence has to be in the ledger once. See docs/schedules.md.`;

const automations = 300;
const brokenOnes = 10;
const services = ["one", "two", "three"];
const healMs = 90_000;

const agent = `name: hello
framework: ai-sdk
model: offline/echo
instructions: Say hello.
`;

interface Options {
  seconds: number;
  seed: number;
  speed: number;
  mongo: boolean;
}

function readOptions(): Options | undefined {
  const { values } = parseArgs({
    options: {
      seconds: { type: "string", default: "60" },
      seed: { type: "string", default: String(randomInt(2 ** 31)) },
      speed: { type: "string", default: "20" },
      mongo: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const [seconds, seed, speed] = [Number(values.seconds), Number(values.seed), Number(values.speed)];
  const usable =
    [seconds, seed, speed].every(Number.isSafeInteger) && seconds > 0 && speed > 0 && speed <= 60;
  return values.help || !usable ? undefined : { seconds, seed, speed, mongo: values.mongo };
}

/** What is to be ended when the run is over, last one first. */
function createStops() {
  const stops: (() => Promise<unknown>)[] = [];
  return {
    add: (stop: () => Promise<unknown>) => void stops.push(stop),
    async all() {
      for (const stop of stops.toReversed()) await stop().catch((error) => console.error(error));
    },
  };
}

async function run({ seconds, seed, speed, mongo: withMongo }: Options): Promise<boolean> {
  const stops = createStops();
  const given = process.env.DATABASE_URL || undefined;
  const library = findFakeTime();
  const directory = await mkdtemp(join(tmpdir(), "rollcall-chaos-"));
  // A database with a clock of its own would not start runs that are ordered in its future.
  const clocks = createClocks(library, library && !given ? speed : 1, directory);
  console.log(`seed ${seed}, ${seconds} s with clocks ${clocks.speed} times as fast`);
  if (!library)
    console.log(
      "libfaketime is not installed (Debian's faketime): clocks are right and go at their usual pace.",
    );
  else if (given) console.log("DATABASE_URL is given: clocks go at its pace, one minute a minute.");
  let kept = false;
  // Not after an interruption, when nothing was found.
  let failed = false;
  process.once("exit", () => {
    if (failed) console.log(`The logs of the services are in ${directory}.`);
    else rmSync(directory, { recursive: true, force: true });
  });
  try {
    const database = await openChaosDatabase(given, clocks, directory);
    stops.add(database.stop);
    const mongo = withMongo ? await startMongo() : undefined;
    if (mongo) {
      stops.add(mongo.stop);
      console.log(`wake-ups in ${mongoTitle}`);
    }
    const repository = await createTestRepository();
    stops.add(repository.remove);
    await repository.commit({ "agents/ai-sdk/hello.yaml": agent });
    const adminKey = randomBytes(16).toString("hex");
    const env = environment(database.url, repository.gitdir, adminKey, mongo);
    const fleet = services.map((name) => createService({ name, directory, env, clocks }));
    stops.add(() => Promise.all(fleet.map((service) => service.end("SIGKILL"))));
    // The first one migrates.
    for (const service of fleet) await service.start();

    const team = createTeam({ services: fleet, adminKey, agent: "hello" });
    await team.create(automations, createRandom(seed));
    await breakSome(database);
    const beganAt = clocks.now();
    const leaves = sleep(seconds * 500).then(team.demote);
    const done = await doHarm({ services: fleet, clocks, database, mongo, team, seed }, seconds * 1_000);
    await leaves;
    const end = clocks.now();
    console.log(`${Math.round((end - beganAt) / 60_000)} minutes have passed on their clocks`);
    console.log(`harm: ${listed(done)}`);
    await heal(database, end);
    await Promise.all(fleet.map((service) => service.end("SIGTERM")));
    const verdict = await judgeLedger(database, end);
    kept = report(verdict, fleet) && isKept(verdict);
    console.log(`runs: ${listed(await runsByState(database))}`);
  } finally {
    failed = !kept;
    await stops.all();
  }
  return kept;
}

function environment(
  databaseUrl: string,
  gitdir: string,
  adminKey: string,
  mongo: MongoForTest | undefined,
): Record<string, string> {
  return {
    DATABASE_URL: databaseUrl,
    ROLLCALL_REPOSITORY: gitdir,
    ROLLCALL_SECRET_KEY: randomBytes(32).toString("hex"),
    ROLLCALL_ADMIN_KEY: adminKey,
    ROLLCALL_API_RATE_LIMIT: "0",
    LOG_LEVEL: "info",
    ...(mongo ? { MONGODB_URL: mongo.url } : {}),
  };
}

/** Some automations lose their agent, so that their runs cannot start. */
async function breakSome(database: ChaosDatabase): Promise<void> {
  await database.query(
    `UPDATE automations SET agent = 'gone' WHERE owner = 'admin' ORDER BY id DESC LIMIT ${brokenOnes}`,
  );
}

/** Waits until nothing is left undone of what was due until `end`, or for as long as that may take. */
async function heal(database: ChaosDatabase, end: number): Promise<void> {
  const deadline = performance.now() + healMs;
  const left = [
    "SELECT COUNT(*) AS n FROM automations WHERE next_run_at <= ?",
    "SELECT COUNT(*) AS n FROM runs JOIN schedule_fires ON run_id = id WHERE status IN ('queued', 'running') AND scheduled_for <= ?",
  ];
  for (const sql of left) {
    for (;;) {
      const [row] = await database.query<{ n: number }>(sql, [Math.floor(end)]);
      if (row?.n === 0) break;
      if (performance.now() > deadline) {
        console.log(`After ${healMs / 1_000} s ${row?.n} are left of: ${sql}`);
        break;
      }
      await sleep(100);
    }
  }
}

async function judgeLedger(database: ChaosDatabase, end: number): Promise<Verdict> {
  return judge(
    await database.query<LedgerAutomation>(
      "SELECT id, schedule, timezone, created_at AS createdAt FROM automations",
    ),
    await database.query<LedgerFire>(
      "SELECT automation_id AS automationId, outcome, run_id AS runId, scheduled_for AS scheduledFor, first_scheduled_for AS firstScheduledFor, count FROM schedule_fires",
    ),
    await database.query<LedgerRun>("SELECT id, automation_id AS automationId FROM runs"),
    end,
  );
}

async function runsByState(database: ChaosDatabase): Promise<Record<string, number>> {
  const rows = await database.query<{ state: string; n: number }>(
    "SELECT CONCAT_WS(' ', status, failure_code) AS state, COUNT(*) AS n FROM runs GROUP BY 1 ORDER BY 1",
  );
  return Object.fromEntries(rows.map(({ state, n }) => [state, n]));
}

/** Prints what became of the occurrences. False when a process has crashed. */
function report(verdict: Verdict, fleet: readonly Service[]): boolean {
  const { expected, fired, explained, duplicated, unexplained, wrongRows } = verdict;
  const of = (outcome: string) => `${outcome} ${explained[outcome] ?? 0}`;
  const outcomes = ["skipped_overlap", "coalesced", "missed", "blocked", "error"].map(of).join(", ");
  const sum = Object.values(explained).reduce((a, b) => a + b, 0);
  const crashes = fleet.reduce((a, service) => a + service.crashes, 0);
  console.log(
    `expected ${expected}, fired ${fired}, explained ${sum} (${outcomes}), duplicated ${duplicated}, unexplained ${unexplained}`,
  );
  console.log(
    `runs without a row ${verdict.runsWithoutRow}, rows without their run ${verdict.rowsWithoutRun}, rows that do not fit their schedule ${wrongRows}, processes that crashed ${crashes}`,
  );
  const errors = fleet.flatMap((service) => service.errors());
  if (errors.length > 0) console.log(`errors logged ${errors.length}, such as ${errors[0]}`);
  for (const example of verdict.examples) console.log(`  ${example}`);
  return crashes === 0;
}

const listed = (counts: Readonly<Record<string, number>>) =>
  Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(", ");

// What was started ends with this process.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
const options = readOptions();
if (!options) console.log(usage);
else if (!existsSync("dist/main.js")) console.log("Build the service first: npm run build.");
process.exitCode = options && existsSync("dist/main.js") && (await run(options)) ? 0 : 1;
