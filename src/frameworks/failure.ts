/**
 * Every way a run can end `failed` or `cancelled`: the safe message that each member may read and what to
 * do about it. The raw cause travels beside it in `details` and is shown to workspace admins only.
 */
const failures = {
  model_not_configured: {
    message: "The agent's model provider is not configured.",
    recommendation:
      "Set the provider's key in the workspace settings or in the environment, then run the agent again.",
  },
  model_auth: {
    message: "The model provider refused the workspace's credentials.",
    recommendation: "Replace the provider's key in the workspace settings, then run the agent again.",
  },
  model_rate_limited: {
    message: "The model provider limited the rate of requests, or its quota is used up.",
    recommendation: "Wait a little or raise the quota at the provider, then run the agent again.",
  },
  model_unavailable: {
    message: "The model provider could not be reached or answered with an error.",
    recommendation:
      "Run the agent again; if this goes on, look at the provider's status page and the model's name.",
  },
  model_refused: {
    message: "The model declined to answer or its answer was withheld by a content filter.",
    recommendation: "Change the message or the agent's instructions, then run the agent again.",
  },
  tool_failed: {
    message: "A tool that the agent called did not work.",
    recommendation: "Look at the run's events for the tool and what it was given, then run the agent again.",
  },
  connection_missing: {
    message: "A connection that the agent needs is not authorised.",
    recommendation: "Authorise the toolkit under Connections, then run the agent again.",
  },
  connection_expired: {
    message: "A connection that the agent needs has expired.",
    recommendation: "Authorise the toolkit again under Connections, then run the agent again.",
  },
  timeout: {
    message: "The run took longer than the agent's time limit.",
    recommendation: "Raise timeoutSeconds in the agent's spec or make its task smaller.",
  },
  max_steps: {
    message: "The agent used up its steps before it had an answer.",
    recommendation: "Raise maxSteps in the agent's spec or make its instructions more direct.",
  },
  budget_exceeded: {
    message: "The run was stopped because it would exceed a budget.",
    recommendation: "Raise the budget or wait until it is renewed, then run the agent again.",
  },
  invalid_spec: {
    message: "The agent's spec is not valid.",
    recommendation: "Correct the problems that are listed with the agent, then run it again.",
  },
  not_permitted: {
    message: "The member that the run was to run as may not start runs.",
    recommendation:
      "Give that member the operator role, or choose another owner for what starts the run, then start it again.",
  },
  worker_lost: {
    message: "The process that executed the run stopped before the run was finished.",
    recommendation: "Check in the run's events which tools were called already, then run the agent again.",
  },
  cancelled: {
    message: "The run was cancelled.",
    recommendation: "Run the agent again when its answer is wanted.",
  },
  internal: {
    message: "The run failed for a reason inside Rollcall.",
    recommendation: "Run the agent again; if this goes on, ask a workspace admin to read the error details.",
  },
} as const;

export type FailureCode = keyof typeof failures;

export const failureCodes = Object.keys(failures) as [FailureCode, ...FailureCode[]];

/** The words for a failure, safe for every member. */
export function describeFailure(code: FailureCode): { message: string; recommendation: string } {
  return failures[code];
}

/** Thrown by frameworks, tools and workers to end a run with a code. `details` may hold raw provider text. */
export class RunFailure extends Error {
  readonly code: FailureCode;
  readonly details: string;

  constructor(code: FailureCode, details: string, options?: { cause?: unknown }) {
    super(failures[code].message, options);
    this.name = "RunFailure";
    this.code = code;
    this.details = details;
  }
}
