import type { EmitterWebhookEventName } from "@octokit/webhooks";
import { z } from "zod";
import { type Decision, ignored, type Served } from "./decision.ts";
import { analyzeInstallation, InstallationPayload } from "./events/analyze-installation.ts";
import {
  analyzeInstallationRepositories,
  InstallationRepositoriesPayload,
} from "./events/analyze-installation-repositories.ts";
import { analyzeMergeGroup, MergeGroupPayload } from "./events/analyze-merge-group.ts";
import { analyzePullRequest, PullRequestPayload } from "./events/analyze-pull-request.ts";
import { analyzePush, PushPayload } from "./events/analyze-push.ts";
import { analyzeRepository, RepositoryPayload } from "./events/analyze-repository.ts";

type Analyze = (payload: unknown, served: Served) => Decision;

/** One line for each event; `app.yml` asks GitHub for the same ones. */
const analyses = {
  push: reading(PushPayload, analyzePush),
  installation: reading(InstallationPayload, analyzeInstallation),
  installation_repositories: reading(InstallationRepositoriesPayload, analyzeInstallationRepositories),
  repository: reading(RepositoryPayload, analyzeRepository),
  pull_request: reading(PullRequestPayload, analyzePullRequest),
  merge_group: reading(MergeGroupPayload, analyzeMergeGroup),
  ping: () => ignored("GitHub only asked whether somebody is there."),
} satisfies Partial<Record<EmitterWebhookEventName, Analyze>>;

export const handledEvents = Object.keys(analyses);

/** What one delivery means, by its event and payload alone. */
export function analyzeDelivery(event: string, payload: unknown, served: Served): Decision {
  const analyze = new Map<string, Analyze>(Object.entries(analyses)).get(event);
  return analyze?.(payload, served) ?? ignored(`The event ${event} is not used.`);
}

const Action = z.object({ action: z.string().max(100) });

/** The payload's `action`; null where its event has none. */
export const actionOf = (payload: unknown): string | null => Action.safeParse(payload).data?.action ?? null;

function reading<S extends z.ZodType>(
  shape: S,
  analyze: (payload: z.infer<S>, served: Served) => Decision,
): Analyze {
  return (payload, served) => {
    const { data, error } = shape.safeParse(payload);
    if (error === undefined) return analyze(data, served);
    const places = error.issues.map((issue) => issue.path.join(".") || "the whole").join(", ");
    return { result: "unreadable", reason: `The payload has an unknown form at: ${places}.` };
  };
}
