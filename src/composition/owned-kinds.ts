import type { OwnedKind } from "../access/index.ts";
import { automationOwnership } from "../automations/index.ts";
import { chatAppOwnership } from "../chat-apps/index.ts";
import type { Dispatches } from "../dispatches/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { JobQueue } from "../platform/jobs/index.ts";
import { triggerOwnership } from "../triggers/index.ts";
import { webhookOwnership } from "../webhooks/index.ts";

/** What acts in a member's name, for those who remove members. */
export const ownedKinds = (deps: { clock: Clock; queue: JobQueue; dispatches: Dispatches }): OwnedKind[] => [
  automationOwnership(deps),
  webhookOwnership(deps),
  triggerOwnership(deps),
  chatAppOwnership(deps),
];
