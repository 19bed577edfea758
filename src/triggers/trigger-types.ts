import { z } from "zod";
import type { Connections, DocumentCache } from "../connections/index.ts";
import type { Actor } from "../platform/http/index.ts";
import type { ProviderOf } from "./provider.ts";
import { type ListTriggerTypes, TriggerType } from "./schema.ts";

export interface TriggerTypesDeps {
  providerOf: ProviderOf;
  cache: Pick<DocumentCache, "read">;
  connections: Pick<Connections, "connections">;
}

/** `warnings` say why the list may lack something or be old. */
export interface TriggerTypeList {
  triggerTypes: TriggerType[];
  warnings?: string[];
}

const freshMs = 10 * 60_000;

/** Toolkits that are read for one answer. */
const mostToolkits = 20;

/** What events there are, as the provider says; kept like the tool catalog, so that its outages are survived. */
export function createTriggerTypes({ providerOf, cache, connections }: TriggerTypesDeps) {
  return async (actor: Actor, { toolkit }: ListTriggerTypes): Promise<TriggerTypeList> => {
    const { provider, client, revision } = await providerOf(actor.workspaceId);
    const toolkits = toolkit === undefined ? await toolkitsOf(connections, actor, provider.id) : [toolkit];
    const readings = await Promise.all(
      toolkits.slice(0, mostToolkits).map((name) =>
        cache.read({
          workspaceId: actor.workspaceId,
          kind: `${provider.id}.trigger_types`,
          name,
          origin: revision,
          schema: z.array(TriggerType),
          freshMs,
          load: async (signal) =>
            (await client().triggerTypes(name, signal)).map(({ payload: _, ...type }) => type),
        }),
      ),
    );
    const triggerTypes = readings.flatMap(({ value }) => value ?? []);
    const warnings = [...new Set(readings.flatMap(({ failure }) => failure ?? []))];
    if (readings.some(({ value, failure }) => value === undefined && failure === undefined))
      warnings.push("Some could not be read yet; ask again shortly.");
    const sorted = triggerTypes.sort((a, b) => (a.slug < b.slug ? -1 : 1));
    return warnings.length > 0 ? { triggerTypes: sorted, warnings } : { triggerTypes: sorted };
  };
}

async function toolkitsOf(
  connections: TriggerTypesDeps["connections"],
  actor: Actor,
  source: string,
): Promise<string[]> {
  const own = (await connections.connections(actor)).filter((each) => each.source === source);
  return [...new Set(own.map(({ provider }) => provider))].sort();
}
