import type { Queryable } from "../platform/db/index.ts";
import { type AgentRow, agentsOf } from "./agent-store.ts";
import { type JudgedHead, resultOf, stateOf } from "./outcome.ts";
import type { AgentTexts, Suites } from "./ports.ts";
import type { HeadRow } from "./store.ts";

/** What these heads, all of one workspace, have come to by now. `q` reads their agents. */
export async function judgeHeads(
  q: Queryable,
  evals: Pick<Suites, "states" | "verdicts">,
  workspaceId: string,
  heads: readonly HeadRow[],
): Promise<JudgedHead[]> {
  const rows = await agentsOf(
    q,
    heads.map(({ id }) => id),
  );
  const texts = rows.flatMap((row) => [...textsOf(row), ...baseTextsOf(row)]);
  // Heads of one pull request have much in common.
  const asked = [...new Map(texts.map((each) => [keyOf(each), each])).values()];
  // A suite that ends in between is taken for one that still runs: its end has the heads judged again.
  const states = await evals.states(
    workspaceId,
    rows.flatMap(({ suite_id }) => suite_id ?? []),
  );
  const answers = await evals.verdicts(workspaceId, asked);
  const verdicts = new Map(asked.map((each, index) => [keyOf(each), answers[index]]));
  const verdictOn = ([own]: readonly AgentTexts[]) => own && verdicts.get(keyOf(own));
  const byHead = Map.groupBy(rows, (row) => row.head_id);
  return heads.map((head) => {
    const agents = (byHead.get(head.id) ?? []).map((row) => {
      const own = states.get(row.suite_id ?? "");
      const result = resultOf(row, own, verdictOn(textsOf(row)));
      return { row, result, own, base: verdictOn(baseTextsOf(row)) };
    });
    return { head, agents, state: stateOf(head, agents) };
  });
}

const keyOf = ({ agent, specSha, evalSha }: AgentTexts) => [specSha, evalSha, agent].join();

const textsOf = ({ agent, spec_sha, eval_sha }: AgentRow): AgentTexts[] =>
  spec_sha === null || eval_sha === null ? [] : [{ agent, specSha: spec_sha, evalSha: eval_sha }];

const baseTextsOf = ({ agent, base_spec_sha, base_eval_sha }: AgentRow): AgentTexts[] =>
  base_spec_sha === null || base_eval_sha === null
    ? []
    : [{ agent, specSha: base_spec_sha, evalSha: base_eval_sha }];
