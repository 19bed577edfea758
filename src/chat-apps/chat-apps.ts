import type { RequestHandler } from "express";
import type { Replayer } from "../deliveries/index.ts";
import type { Endpoint, Hook } from "../platform/http/index.ts";
import type { JobKind } from "../platform/jobs/index.ts";
import type { Redactor } from "../platform/redact.ts";
import type { Sealer } from "../platform/secrets.ts";
import { forgetOldConversations } from "./conversation-store.ts";
import { chatAppEndpoints } from "./endpoints.ts";
import { type EventJobDeps, eventJob } from "./event-job.ts";
import { createIdentify, type IdentifyDeps } from "./identify.ts";
import { createInstaller, type InstallDeps } from "./install.ts";
import { installPages } from "./install-pages.ts";
import { createManagement, type ManageDeps } from "./manage.ts";
import { createChatPlatforms } from "./platforms/index.ts";
import type { SlackDeps } from "./platforms/slack/index.ts";
import { createProgressPauses } from "./progress-pace.ts";
import { chatHook } from "./receive.ts";
import { chatReplayer } from "./replay.ts";
import { revokeJob } from "./revoke-job.ts";
import { createChatSecrets } from "./sealing.ts";
import { forgetOldInstalls } from "./store.ts";
import { type ThreadJobDeps, threadJob } from "./thread-job.ts";
import { createWithToken } from "./tokens.ts";
import { wakeJob } from "./wake.ts";

/** Made here of the others. */
type Inner = "platforms" | "secrets" | "withToken" | "identify" | "pauses";

export interface ChatAppsDeps
  extends SlackDeps,
    Omit<ManageDeps, Inner | "members">,
    Omit<EventJobDeps, Inner | "runs">,
    Omit<InstallDeps, Inner | "members">,
    Omit<ThreadJobDeps, Inner | "members" | "runs"> {
  members: IdentifyDeps["members"] &
    ThreadJobDeps["members"] &
    ManageDeps["members"] &
    InstallDeps["members"];
  runs: EventJobDeps["runs"] & ThreadJobDeps["runs"];
  sealer: Sealer;
  redactor: Redactor;
}

export interface ChatApps {
  endpoints: readonly Endpoint[];
  hook: Hook;
  /** What a browser sees while an app is installed. What they do not know they pass on. */
  pages: RequestHandler;
  replayer: Replayer;
  jobs: {
    event: JobKind<ReturnType<typeof eventJob>["payload"]>;
    thread: JobKind<ReturnType<typeof threadJob>["payload"]>;
    wake: JobKind<ReturnType<typeof wakeJob>["payload"]>;
    revoke: JobKind<ReturnType<typeof revokeJob>["payload"]>;
  };
}

/** Bots of chat platforms, in whose threads people talk to agents. */
export function createChatApps(outer: ChatAppsDeps): ChatApps {
  const platforms = createChatPlatforms(outer);
  const secrets = createChatSecrets(outer);
  const inner = { ...outer, platforms, secrets, pauses: createProgressPauses(outer.clock) };
  const withToken = createWithToken(inner);
  const deps = { ...inner, withToken, identify: createIdentify({ ...inner, withToken }) };
  return {
    endpoints: chatAppEndpoints(createManagement(deps)),
    hook: chatHook(deps),
    pages: installPages({ ...deps, installer: createInstaller(deps) }),
    replayer: chatReplayer(deps),
    jobs: {
      event: eventJob(deps),
      thread: threadJob(deps),
      wake: wakeJob(deps),
      revoke: revokeJob(deps),
    },
  };
}

/** Removes what has had its time; see the stores. */
export const forgetOldChats: typeof forgetOldInstalls = async (tx, now) => {
  await forgetOldInstalls(tx, now);
  await forgetOldConversations(tx, now);
};
