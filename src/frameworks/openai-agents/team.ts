import { RunFailure } from "../failure.ts";
import type { FrameworkRun, Participant } from "../types.ts";
import { OpenaiAgentsSpec } from "./spec.ts";

/** An agent of a run, with the names of those that it may hand off to. */
export interface Member extends Participant {
  handoffs: readonly string[];
}

/** Handoffs from the run's agent to the farthest one, and agents in all. */
const deepest = 5;
const mostMembers = 20;

/**
 * The run's agent and all agents that it can come to by handoffs, by name, the run's own first. They are looked
 * up before the first model call, so that a run does not fail half-way by what was known to be missing. Throws
 * RunFailure: `invalid_spec`, or what keeps one of them from running.
 */
export async function gatherTeam(run: FrameworkRun): Promise<Map<string, Member>> {
  const team = new Map([[run.spec.name, memberOf(run)]]);
  for (let depth = 1; ; depth++) {
    const named = [...team.values()].flatMap(({ handoffs }) => handoffs);
    const unknown = [...new Set(named)].filter((name) => !team.has(name));
    if (unknown.length === 0) return team;
    if (depth > deepest || team.size + unknown.length > mostMembers) {
      const limit = `${deepest} handoffs in a row and ${mostMembers} agents in all are the most`;
      throw new RunFailure("invalid_spec", `The handoffs of ${run.spec.name} lead too far; ${limit}.`);
    }
    for (const member of await Promise.all(unknown.map((name) => findMember(run, name)))) {
      team.set(member.spec.name, member);
    }
  }
}

async function findMember({ spec, reach }: FrameworkRun, name: string): Promise<Member> {
  if (!reach)
    throw new RunFailure("invalid_spec", `${spec.name} cannot hand off to ${name} in a run of this kind.`);
  return memberOf(await reach.agent(name));
}

function memberOf({ spec, model, tools }: Participant): Member {
  const checked = OpenaiAgentsSpec.safeParse(spec);
  if (checked.success) return { spec, model, tools, handoffs: checked.data.handoffs };
  throw new RunFailure(
    "invalid_spec",
    `${spec.name} takes part by a handoff, but it is not an agent of openai-agents.`,
  );
}
