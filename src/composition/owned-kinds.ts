import { ownedKind } from "../access/index.ts";
import type { Automations } from "../automations/index.ts";
import type { ChatApps } from "../chat-apps/index.ts";
import type { Queryable } from "../platform/db/index.ts";
import type { Triggers } from "../triggers/index.ts";
import type { Webhooks } from "../webhooks/index.ts";

interface Owners {
  automations: Automations;
  webhooks: Webhooks;
  triggers: Triggers;
  chatApps: ChatApps;
}

/** What acts in a member's name, for those who remove members. */
export const ownedKinds = ({ automations, webhooks, triggers, chatApps }: Owners) => [
  ownedKind({
    kind: "automations",
    worksOn: true,
    labelOf: ({ schedule }) => schedule,
    ownedBy: automations.ownedBy,
    release: automations.pauseAllOf,
    reassign: automations.reassignAll,
  }),
  ownedKind({
    kind: "webhooks",
    worksOn: true,
    labelOf: ({ name }) => name,
    ownedBy: webhooks.ownedBy,
    release: webhooks.disableAllOf,
    reassign: webhooks.reassignAll,
  }),
  ownedKind({
    kind: "triggers",
    // Their connections are their former owner's.
    worksOn: false,
    labelOf: ({ slug }) => slug,
    ownedBy: triggers.ownedBy,
    release: triggers.disableAllOf,
    reassign: triggers.reassignAll,
  }),
  ownedKind({
    kind: "chatApps",
    worksOn: true,
    async ownedBy(q: Queryable, workspaceId: string, login: string) {
      const apps = await chatApps.ownedBy(q, workspaceId, login);
      return apps.map((app) => ({ ...app, agent: app.defaultAgent }));
    },
    labelOf: ({ name }) => name,
    release: chatApps.disableAllOf,
    reassign: chatApps.reassignAll,
  }),
];
