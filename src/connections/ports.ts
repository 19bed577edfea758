import type { Tx } from "../platform/db/index.ts";

/** Whose tools: the catalog and the authorisations are per member. */
export interface ToolUser {
  workspaceId: string;
  login: string;
}

/** A tool as a source offers it. */
export interface SourceTool {
  slug: string;
  /** Toolkit or provider the tool belongs to. */
  provider: string;
  name: string;
  description: string;
  /** JSON Schema of the arguments, an object schema. */
  inputSchema: Record<string, unknown>;
  /** False for tools that work without the member's authorisation. */
  needsConnection: boolean;
}

/** `warnings` say in one sentence each which tools are left out or renamed, and why. */
export interface SourceCatalog {
  tools: readonly SourceTool[];
  warnings: readonly string[];
}

/** A member's authorisation of one toolkit. Never holds a token. */
export interface SourceConnection {
  /** The provider's id of the account, when there is one. */
  id: string | null;
  provider: string;
  status: "active" | "pending" | "expired" | "failed" | "revoked";
  /** The provider's own word for the status. */
  providerStatus: string | null;
}

/** A page where a member authorises a toolkit. */
export interface ConnectLink {
  url: string;
  /** Epoch milliseconds. */
  expiresAt: number;
}

/** What a tool call knows of the run that makes it. */
export interface ToolCallContext extends ToolUser {
  /** Commit whose files the agent came from. */
  commitSha: string;
  signal: AbortSignal;
}

/** Where tools come from. Each source is a folder and one line where the app is put together. */
export interface ToolSource {
  /** Shown as `source` of its tools. */
  readonly id: string;
  tools(user: ToolUser): Promise<SourceCatalog>;
  /**
   * The member's authorisations, the most useful one of a toolkit first. `recheck` asks for what is true now
   * instead of lately, as far as the source can tell within a few seconds.
   */
  connections(user: ToolUser, recheck: boolean): Promise<readonly SourceConnection[]>;
  /**
   * Makes a page where the member authorises a toolkit. Undefined when the workspace has not configured the
   * source; throws 404 when it has no such toolkit. Left out by sources that need no authorisation.
   */
  link?(user: ToolUser, toolkit: string, signal: AbortSignal): Promise<ConnectLink | undefined>;
  /** Has the member's authorisations asked for anew by whoever needs them next. */
  connectionsChanged?(tx: Tx, user: ToolUser): Promise<void>;
  /**
   * Calls a tool as the member. `ok: false` is the tool's own failure, which the model is told; throws when
   * the run cannot go on.
   */
  call(slug: string, args: unknown, context: ToolCallContext): Promise<{ ok: boolean; content: unknown }>;
}
