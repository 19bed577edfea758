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

/** A member's authorisation of one toolkit. Never holds a token. */
export interface SourceConnection {
  provider: string;
  status: "active" | "pending" | "expired" | "failed" | "revoked";
  /** Where the member authorises the toolkit, when there is such a page. */
  connectUrl: string | null;
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
  tools(user: ToolUser): Promise<readonly SourceTool[]>;
  connections(user: ToolUser): Promise<readonly SourceConnection[]>;
  /**
   * Calls a tool as the member. `ok: false` is the tool's own failure, which the model is told; throws when
   * the run cannot go on.
   */
  call(slug: string, args: unknown, context: ToolCallContext): Promise<{ ok: boolean; content: unknown }>;
}
