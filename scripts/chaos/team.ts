import { type ChaosSchedule, minutesOf } from "./ledger.ts";
import type { Random } from "./random.ts";
import type { Service } from "./service.ts";

/** The members of the workspace, who have automations and change them. */
export interface Team {
  /** Creates the automations, in the order of their ids. */
  create(count: number, random: Random): Promise<void>;
  /** Edits some automations by way of whichever process answers; what fails has not happened, or has. */
  edit(random: Random): Promise<void>;
  /** Takes the right to run agents from the one who owns the last automations. */
  demote(): Promise<void>;
}

export interface TeamOptions {
  services: readonly Service[];
  adminKey: string;
  /** The agent that is run. */
  agent: string;
}

const leaving = "ada";
/** How many of the automations are the one's who leaves. */
const ofLeaving = 5;

const zones = ["UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Australia/Lord_Howe"] as const;
const everyMinute: ChaosSchedule = "* * * * *";
const answerMs = 5_000;

export function createTeam({ services, adminKey, agent }: TeamOptions): Team {
  const ids: string[] = [];

  async function call<T>(url: string, method: string, path: string, body: unknown): Promise<T> {
    const response = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(answerMs),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  }

  const ready = () => services.flatMap((service) => service.url() ?? []);

  return {
    async create(count, random) {
      const [url = ""] = ready();
      await call(url, "POST", "/members", { login: leaving, role: "operator" });
      for (let n = 0; n < count; n++) {
        const body = {
          agent,
          message: `Automation ${n}`,
          schedule: n % 4 > 0 ? everyMinute : random.pick(Object.keys(minutesOf)),
          timezone: random.pick(zones),
          overlap: overlapOf(n),
          ...(n < count - ofLeaving ? {} : { owner: leaving }),
        };
        const { automation } = await call<{ automation: { id: string; schedule: string } }>(
          url,
          "POST",
          "/automations",
          body,
        );
        // The others' occurrences would change with their zone.
        if (automation.schedule === everyMinute) ids.push(automation.id);
      }
    },
    async edit(random) {
      const urls = ready();
      if (urls.length === 0) return;
      const url = random.pick(urls);
      const edits = Array.from({ length: random.whole(1, 10) }, async () => {
        const change = { timezone: random.pick(zones) };
        await call(url, "PATCH", `/automations/${random.pick(ids)}`, change).catch(() => {});
      });
      await Promise.all(edits);
    },
    async demote() {
      for (const url of ready()) {
        const role = { role: "viewer" };
        const done = await call(url, "PATCH", `/members/${leaving}`, role).then(
          () => true,
          () => false,
        );
        if (done) return;
      }
    },
  };
}

/** Most start a run whatever the one before does. */
function overlapOf(n: number): "allow" | "skip" | "queue" {
  if (n % 10 === 1) return "skip";
  return n % 10 === 2 ? "queue" : "allow";
}
