import { z } from "zod";
import type { Clock } from "../../platform/clock.ts";
import type { SourceTool, ToolCallContext, ToolSource } from "../ports.ts";

export interface BuiltinDeps {
  clock: Clock;
  /** A file of the workspace's repository at a commit; undefined when there is none that small. */
  readFile(
    workspaceId: string,
    commitSha: string,
    path: string,
    maxBytes: number,
  ): Promise<Uint8Array | undefined>;
}

interface BuiltinTool<S extends z.ZodType = z.ZodType> {
  slug: string;
  name: string;
  description: string;
  input: S;
  call(args: z.infer<S>, context: ToolCallContext): Promise<{ ok: boolean; content: unknown }>;
}

const maxFileBytes = 256 * 1024;

const isTimeZone = (name: string) => {
  try {
    return Boolean(new Intl.DateTimeFormat("en", { timeZone: name }));
  } catch {
    return false;
  }
};

const CurrentTimeInput = z.strictObject({
  timezone: z
    .string()
    .refine(isTimeZone, "Use an IANA time zone such as Europe/Berlin.")
    .default("UTC")
    .describe("IANA time zone; UTC when left out."),
});

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
const unplain = /[\u0000-\u001f\u007f\\]/;

/** The path reaches a repository's host as it is, so it names its file without any detour. */
function isPlainPath(path: string): boolean {
  return !unplain.test(path) && path.split("/").every((part) => !["", ".", ".."].includes(part));
}

const ReadFileInput = z.strictObject({
  path: z
    .string()
    .max(255)
    .refine(isPlainPath, "Use a path from the root of the repository, without . or .. in it.")
    .describe("Path from the root of the repository, for example docs/README.md."),
});

/** Tools that come with Rollcall: no account, no authorisation. */
export function createBuiltinTools({ clock, readFile }: BuiltinDeps): ToolSource {
  const tools = new Map<string, BuiltinTool>();
  const add = <S extends z.ZodType>(tool: BuiltinTool<S>) =>
    tools.set(tool.slug, tool as unknown as BuiltinTool);

  add({
    slug: "ROLLCALL_CURRENT_TIME",
    name: "Current time",
    description: "Tells the current date and time in a time zone.",
    input: CurrentTimeInput,
    async call({ timezone }) {
      const now = new Date(clock());
      const local = new Intl.DateTimeFormat("en-GB", {
        timeZone: timezone,
        dateStyle: "full",
        timeStyle: "long",
      }).format(now);
      return { ok: true, content: { utc: now.toISOString(), timezone, local } };
    },
  });
  add({
    slug: "ROLLCALL_READ_FILE",
    name: "Read a file",
    description:
      "Reads a text file of the repository that the agent lives in, as of the commit the run is made from.",
    input: ReadFileInput,
    async call({ path }, { workspaceId, commitSha }) {
      const bytes = await readFile(workspaceId, commitSha, path, maxFileBytes);
      if (!bytes) return { ok: false, content: `There is no text file of at most 256 KiB at ${path}.` };
      return { ok: true, content: { path, text: new TextDecoder().decode(bytes) } };
    },
  });

  const catalog = [...tools.values()].map(describe);
  return {
    id: "rollcall",
    tools: async () => ({ tools: catalog, warnings: [] }),
    connections: async () => [{ id: null, provider: "rollcall", status: "active", providerStatus: null }],
    async call(slug, args, context) {
      const tool = tools.get(slug);
      if (!tool) return { ok: false, content: `There is no tool ${slug}.` };
      const parsed = tool.input.safeParse(args);
      if (!parsed.success) return { ok: false, content: z.prettifyError(parsed.error) };
      return tool.call(parsed.data, context);
    },
  };
}

function describe({ slug, name, description, input }: BuiltinTool): SourceTool {
  const { $schema: _, ...inputSchema } = z.toJSONSchema(input, { io: "input" }) as Record<string, unknown>;
  return { slug, name, description, inputSchema, provider: "rollcall", needsConnection: false };
}
