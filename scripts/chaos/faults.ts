import { setTimeout as sleep } from "node:timers/promises";
import type { MongoForTest } from "../../test/support/mongo-server.ts";
import type { Clocks } from "./clocks.ts";
import type { ChaosDatabase } from "./database.ts";
import { createRandom, type Random } from "./random.ts";
import type { Service } from "./service.ts";
import type { Team } from "./team.ts";

export interface FaultOptions {
  services: readonly Service[];
  clocks: Clocks;
  database: ChaosDatabase;
  mongo: MongoForTest | undefined;
  team: Team;
  seed: number;
}

interface Fault {
  name: string;
  /** What it keeps busy: a service has one fault at a time, and so has everything else. */
  target: string;
  /** Does it for so many milliseconds; settles when it is undone. */
  harm(ms: number): Promise<void>;
}

const minuteMs = 60_000;
/** A process looks at its clock's file once a second. */
const noticeMs = 1_500;

/**
 * Does harm for so many milliseconds and settles when all of it is undone. Answers how often each fault was done. What
 * is done when to whom follows from the seed; what that hits does not.
 */
export async function doHarm(options: FaultOptions, forMs: number): Promise<Record<string, number>> {
  const plan = createRandom(options.seed);
  // One of its own: how often it is asked depends on what is there at the moment.
  const details = createRandom(options.seed + 1);
  const faultsOf = new Map(
    options.services.map((service) => [service, faultsOn(options, service, details)] as const),
  );
  const done: Record<string, number> = {};
  const busy = new Set<string>();
  const underway = new Set<Promise<void>>();
  const end = performance.now() + forMs;
  for (;;) {
    await sleep(Math.min(plan.whole(100, 1_200), Math.max(0, end - performance.now())));
    if (performance.now() >= end) break;
    const { name, target, harm } = plan.pick(faultsOf.get(plan.pick(options.services)) ?? []);
    const ms = plan.whole(300, 4_000);
    if (busy.has(target)) continue;
    busy.add(target);
    done[name] = (done[name] ?? 0) + 1;
    const work = harm(ms).finally(() => {
      busy.delete(target);
      underway.delete(work);
    });
    underway.add(work);
  }
  await Promise.all(underway);
  return done;
}

/** What can be done to a service and to what it stands on; what is there several times is that much likelier. */
function faultsOn(options: FaultOptions, service: Service, random: Random): Fault[] {
  const { clocks, database, mongo, team } = options;
  const target = service.name;
  const restart = (signal: "SIGKILL" | "SIGTERM") => async (ms: number) => {
    await service.end(signal);
    await sleep(ms / 4);
    await service.start();
  };
  const cut = async () => void (await database.cut(() => random.next() < 0.5));
  const killed = { name: "killed", target, harm: restart("SIGKILL") };
  const frozen = { name: "frozen", target, harm: service.freeze };
  const connections = { name: "connections cut", target: "database", harm: cut };
  const edited = { name: "automations edited", target: "team", harm: () => team.edit(random) };
  const stopped = { name: "stopped in order", target, harm: restart("SIGTERM") };
  const common = [killed, killed, killed, frozen, frozen, frozen, connections, connections, edited, edited];
  return [
    ...[...common, stopped, ...common, stopped],
    ...(clocks.jumpable ? wrongClocks(clocks, target, database.followsClocks) : []),
    ...(mongo ? mongoFaults(mongo) : []),
  ];
}

function wrongClocks(clocks: Clocks, target: string, allFollow: boolean): Fault[] {
  const wrong = (minutes: number) => async (ms: number) => {
    clocks.jump(target, minutes * minuteMs);
    await sleep(noticeMs + ms);
    clocks.jump(target, 0);
  };
  const behind = { name: "clock 10 min behind", target, harm: wrong(-10) };
  const ahead = { name: "clock 3 min ahead", target, harm: wrong(3) };
  const hour = {
    name: "clock 1 h ahead",
    target,
    async harm(ms: number) {
      clocks.jump(target, 60 * minuteMs);
      await sleep(noticeMs + ms);
      clocks.jumpAll(60 * minuteMs);
      clocks.jump(target, 0);
    },
  };
  // Unless all clocks follow, nothing would be due for an hour.
  return [behind, behind, ahead, ahead, ...(allFollow ? [hour] : [])];
}

function mongoFaults(mongo: MongoForTest): Fault[] {
  const target = "mongo";
  const stall = async (ms: number) => {
    mongo.proxy.pause();
    await sleep(ms);
    mongo.proxy.resume();
  };
  const kill = async (ms: number) => {
    mongo.proxy.refuse();
    await mongo.empty();
    await sleep(ms);
    mongo.proxy.resume();
  };
  const stalled = { name: "MongoDB stalled", target, harm: stall };
  const killed = { name: "MongoDB away and back empty", target, harm: kill };
  const emptied = { name: "MongoDB emptied", target, harm: mongo.empty };
  return [stalled, stalled, killed, killed, emptied, emptied];
}
