import { describe, expect, it } from "vitest";
import { findAgents, listAgents } from "../../../src/agents/store.ts";
import { latestNumbers, stableVersions } from "../../../src/agents/version-store.ts";
import { openDatabase } from "../../../src/platform/db/index.ts";
import { sha256 } from "../../../src/platform/secrets.ts";
import { addWorkspace } from "../../support/catalog.ts";
import { databases, freshDatabase } from "../../support/databases.ts";
import { plansOf } from "../../support/query-plan.ts";

const total = 5_000;
const limit = 50;

describe.each(databases())("lists of 5,000 agents on %s", (engine) => {
  it("each page goes along an index, sorts nothing and reads little more than itself", async () => {
    const { db: writer, config } = await freshDatabase(engine);
    const names = Array.from({ length: total }, (_, n) => `agent-${String(n).padStart(5, "0")}`);
    const rows = [await addWorkspace(writer, "ours"), await addWorkspace(writer, "theirs")].flatMap(
      (workspace_id) =>
        names.flatMap((name) => {
          const path = `agents/ai-sdk/${name}.yaml`;
          const texts = {
            problems: "[]",
            labels: "[]",
            connections: "[]",
            eval_problems: "[]",
            spec_text: "x".repeat(500),
          };
          const agent = {
            ...{
              workspace_id,
              path,
              path_hash: sha256(path),
              name,
              agent_group: name,
              framework: "ai-sdk",
              format: "yaml",
            },
            ...{ valid: 1, has_evals: 0, commit_sha: "c", updated_at: 1, ...texts },
          };
          const version = {
            ...{
              workspace_id,
              agent: name,
              framework: "ai-sdk",
              spec_sha: "s",
              commit_sha: "c",
              created_at: 1,
            },
          };
          return [
            { table: "agents", row: agent },
            ...[1, 2, 3].map((number) => ({
              table: "agent_versions",
              row: { ...version, number, stable: number === 2 ? 1 : 0 },
            })),
          ];
        }),
    );
    await writer.commit({ rows });
    await writer.writer.raw(engine === "mysql" ? "ANALYZE TABLE agents, agent_versions" : "ANALYZE");
    const db = openDatabase(config);
    const { read } = db;

    const middle = { name: names[total / 2] ?? "", pathHash: "0".repeat(64) };
    for (const after of [undefined, middle, { name: "zzz", pathHash: "f".repeat(64) }]) {
      const [plan] = await plansOf(db, () => listAgents(read, "wsp_ours", limit + 1, after));
      expect(plan).toMatchObject({ index: "agents_name", sorts: false });
      expect(plan?.rowsRead ?? 0).toBeLessThan(limit * 3);
    }
    const page = names.slice(0, limit);
    const others = {
      stable: () => stableVersions(read, "wsp_ours", page),
      latest: () => latestNumbers(read, "wsp_ours", page),
      claimants: () => findAgents(read, "wsp_ours", page.slice(0, 2)),
    };
    for (const [what, ask] of Object.entries(others)) {
      const [plan] = await plansOf(db, ask);
      expect(plan?.index, what).toBeDefined();
      expect(plan?.rowsRead ?? 0, `${what} ${plan?.sql}`).toBeLessThan(limit * 8);
    }
    await db.close();
  });
});
