import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { z } from "zod";
import { plainIssue } from "./plain-issues.ts";

const url = z
  .url({ protocol: /^https?$/, error: "is not an http(s) URL" })
  .transform((text) => text.replace(/\/+$/, ""));
const whole = (min: number, max: number) =>
  z.string().regex(/^\d+$/, "is not a whole number").transform(Number).pipe(z.int().min(min).max(max));

const roleNames = ["web", "worker", "scheduler"] as const;
export type ProcessRole = (typeof roleNames)[number];

/** Also refuses a stray % in user or password, which could not be decoded later. */
function isMysqlAddress(text: string): boolean {
  const address = URL.parse(text);
  if (!address?.hostname || address.pathname.length < 2) return false;
  return /^(?:[^%]|%[0-9A-Fa-f]{2})*$/.test(address.username + address.password);
}

/**
 * Every variable that is read, with the words of the README's table. Defaults are texts, as a shell would
 * give them; an empty variable counts as unset.
 */
export const Environment = z.object({
  PORT: whole(0, 65_535).prefault("3000").describe("Port to listen on; 0 takes a free one."),
  HOST: z.string().prefault("127.0.0.1").describe("Address to listen on; 0.0.0.0 for all."),
  ROLLCALL_HOME: z
    .string()
    .prefault("./.rollcall")
    .describe("Data directory: SQLite database, sealing key, sample repository."),
  ROLLCALL_URL: url.optional().describe("Public base address, used in links; default http://HOST:PORT."),
  DATABASE_URL: z
    .string()
    .regex(/^(mysql:\/\/.+|sqlite:.+)$/, "has to begin with mysql:// or sqlite:")
    .refine(
      (text) => text.startsWith("sqlite:") || isMysqlAddress(text),
      "is not a mysql:// address with a host and a database",
    )
    .optional()
    .describe(
      "`mysql://user:password@host/database` or `sqlite:PATH`; default SQLite in the data directory.",
    ),
  MONGODB_URL: z
    .string()
    .regex(/^mongodb(\+srv)?:\/\/[^/\s]+/, "has to begin with mongodb:// or mongodb+srv:// and name a host")
    .optional()
    .describe(
      "`mongodb://user:password@host/database`: keeps the schedules' wake-ups there instead of in the database.",
    ),
  ROLLCALL_REPOSITORY: z
    .string()
    .optional()
    .describe(
      "A local Git directory, or `owner/name` on GitHub; default a sample repository in the data directory.",
    ),
  ROLLCALL_BRANCH: z
    .string()
    .optional()
    .describe("Branch to serve; default the repository's own default branch."),
  ROLLCALL_ADMIN_KEY: z
    .string()
    .regex(/^[\x21-\x7e]{20,200}$/, "has to be 20 to 200 printable characters without spaces")
    .optional()
    .describe("Chooses the first admin's API key instead of printing one; changes nothing on later starts."),
  ROLLCALL_SECRET_KEY: z
    .string()
    .transform((text) => text.split(",").map((key) => key.trim()))
    .refine(
      (keys) => keys.every((key) => key.length >= 32),
      "has to be 32 or more characters (each key, when there are several)",
    )
    .optional()
    .describe(
      "Seals secrets in the database; made in the data directory with SQLite, required with MySQL. `new,old` rotates.",
    ),
  ROLLCALL_ROLES: z
    .string()
    .transform((text) => text.split(",").map((role) => role.trim()))
    .pipe(z.array(z.enum(roleNames, `may name ${roleNames.join(", ")}`)).min(1))
    .prefault(roleNames.join(","))
    .describe(
      "What this process does: `web` answers HTTP, `worker` executes jobs, `scheduler` keeps the catalog current.",
    ),
  ROLLCALL_CONCURRENCY: whole(1, 1_000)
    .prefault("50")
    .describe("Agent runs that one process executes at the same time."),
  ROLLCALL_API_RATE_LIMIT: whole(0, 1_000_000)
    .prefault("1200")
    .describe("Requests a minute for each API key; 0 is off."),
  ROLLCALL_WEBHOOK_RATE_LIMIT: whole(0, 1_000_000)
    .prefault("60")
    .describe("Calls a minute for each external webhook; 0 is off."),
  APP_ID: z
    .string()
    .regex(/^\d+$/, "is not a number")
    .optional()
    .describe("Id of the GitHub App that reads the repository."),
  PRIVATE_KEY: z
    .string()
    .optional()
    .describe("The GitHub App's private key (PEM; `\\n` may stand for line ends)."),
  PRIVATE_KEY_PATH: z.string().optional().describe("File that holds the GitHub App's private key."),
  WEBHOOK_SECRET: z
    .string()
    .min(32, "has to be 32 or more characters")
    .optional()
    .describe("The GitHub App's webhook secret, 32 or more characters; deliveries are taken when it is set."),
  GHE_HOST: z.string().optional().describe("Host of a GitHub Enterprise Server."),
  GHE_PROTOCOL: z
    .enum(["https", "http"])
    .prefault("https")
    .describe("Protocol of the GitHub Enterprise Server."),
  OPENAI_API_KEY: z.string().optional().describe("For `openai/…` models."),
  OPENAI_BASE_URL: url.optional().describe("Another address for `openai/…` models."),
  OPENAI_COMPATIBLE_BASE_URL: url
    .optional()
    .describe("Address for `openai-compatible/…` models, such as a vLLM server's."),
  OPENAI_COMPATIBLE_API_KEY: z
    .string()
    .optional()
    .describe("For `openai-compatible/…` models whose server wants a key."),
  ANTHROPIC_API_KEY: z.string().optional().describe("For `anthropic/…` models."),
  GOOGLE_GENERATIVE_AI_API_KEY: z.string().optional().describe("For `google/…` models."),
  OLLAMA_BASE_URL: url.optional().describe("Address of an Ollama server, for `ollama/…` models."),
  COMPOSIO_BASE_URL: url.optional().describe("Another address for Composio, such as a proxy's."),
  SLACK_API_URL: url
    .prefault("https://slack.com/api")
    .describe("Address of Slack's Web API; `https://slack-gov.com/api` for GovSlack."),
  LOG_LEVEL: z
    .enum(["fatal", "error", "warn", "info", "debug", "trace", "silent"])
    .prefault("info")
    .describe("Least severe level that is logged."),
});

export type DatabaseConfig = { engine: "sqlite"; path: string } | { engine: "mysql"; url: string };

export type RepositoryConfig =
  | { kind: "local"; path: string; branch?: string }
  | {
      kind: "github";
      owner: string;
      repo: string;
      branch?: string;
      app: { appId: string; privateKey: string; baseUrl?: string };
    };

export interface Config {
  host: string;
  port: number;
  home: string;
  publicUrl: string | undefined;
  database: DatabaseConfig;
  /** Undefined: wake-ups are kept in the database. */
  mongoUrl: string | undefined;
  /** Undefined: the sample repository in the data directory. */
  repository: RepositoryConfig | undefined;
  /** Undefined: deliveries of GitHub are not taken. */
  webhookSecret: string | undefined;
  adminKey: string | undefined;
  /** Undefined: the key file in the data directory. */
  secretKeys: readonly string[] | undefined;
  roles: ReadonlySet<ProcessRole>;
  concurrency: number;
  apiRateLimit: number;
  webhookRateLimit: number;
  modelKeys: Readonly<Record<string, { apiKey?: string; baseUrl?: string }>>;
  /** Undefined: Composio's own address. */
  composioUrl: string | undefined;
  /** Without a slash at its end. */
  slackUrl: string;
  logLevel: string;
}

/** The environment cannot be used. `problems` has one line for each bad variable. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.name = "ConfigError";
    this.problems = problems;
  }
}

type Variables = z.infer<typeof Environment>;

/** Reads the environment once. Throws ConfigError; never mentions a value, which might be a secret. */
export function readConfig(env: Record<string, string | undefined> = process.env): Config {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ""));
  const parsed = Environment.safeParse(given, { error: (issue) => `is not usable: ${plainIssue(issue)}` });
  if (!parsed.success) {
    throw new ConfigError(
      parsed.error.issues.map((issue) => `${issue.path[0]?.toString()} ${issue.message.replace(/\.$/, "")}.`),
    );
  }
  const vars = parsed.data;
  const home = resolve(vars.ROLLCALL_HOME);
  const database = databaseOf(vars, home);
  if (database.engine === "mysql" && !vars.ROLLCALL_SECRET_KEY) {
    throw new ConfigError(["ROLLCALL_SECRET_KEY is required with MySQL: set 32 or more random characters."]);
  }
  return Object.freeze({
    host: vars.HOST,
    port: vars.PORT,
    home,
    publicUrl: vars.ROLLCALL_URL,
    database,
    mongoUrl: vars.MONGODB_URL,
    repository: repositoryOf(vars),
    webhookSecret: webhookSecretOf(vars),
    adminKey: vars.ROLLCALL_ADMIN_KEY,
    secretKeys: vars.ROLLCALL_SECRET_KEY,
    roles: new Set(vars.ROLLCALL_ROLES),
    concurrency: vars.ROLLCALL_CONCURRENCY,
    apiRateLimit: vars.ROLLCALL_API_RATE_LIMIT,
    webhookRateLimit: vars.ROLLCALL_WEBHOOK_RATE_LIMIT,
    modelKeys: {
      openai: { apiKey: vars.OPENAI_API_KEY, baseUrl: vars.OPENAI_BASE_URL },
      anthropic: { apiKey: vars.ANTHROPIC_API_KEY },
      google: { apiKey: vars.GOOGLE_GENERATIVE_AI_API_KEY },
      "openai-compatible": {
        apiKey: vars.OPENAI_COMPATIBLE_API_KEY,
        baseUrl: vars.OPENAI_COMPATIBLE_BASE_URL,
      },
      ollama: { baseUrl: vars.OLLAMA_BASE_URL },
    },
    composioUrl: vars.COMPOSIO_BASE_URL,
    slackUrl: vars.SLACK_API_URL,
    logLevel: vars.LOG_LEVEL,
  });
}

function databaseOf(vars: Variables, home: string): DatabaseConfig {
  const text = vars.DATABASE_URL;
  if (text?.startsWith("mysql:")) return { engine: "mysql", url: text };
  return {
    engine: "sqlite",
    path: text ? resolve(text.slice("sqlite:".length)) : resolve(home, "rollcall.sqlite"),
  };
}

function repositoryOf(vars: Variables): RepositoryConfig | undefined {
  const name = vars.ROLLCALL_REPOSITORY;
  const branch = vars.ROLLCALL_BRANCH;
  if (!name) return undefined;
  // A directory that is there is meant, even when its relative path looks like a name on GitHub.
  const onGitHub = existsSync(name) ? null : /^([A-Za-z0-9][\w.-]*)\/([\w.-]+)$/.exec(name);
  if (!onGitHub?.[1] || !onGitHub[2]) return { kind: "local", path: resolve(name), branch };
  const privateKey = privateKeyOf(vars);
  if (!vars.APP_ID || !privateKey) {
    throw new ConfigError([
      "ROLLCALL_REPOSITORY names a repository on GitHub, which needs APP_ID and PRIVATE_KEY or PRIVATE_KEY_PATH; write ./path for a local directory.",
    ]);
  }
  const baseUrl = vars.GHE_HOST ? `${vars.GHE_PROTOCOL}://${vars.GHE_HOST}/api/v3` : undefined;
  return {
    kind: "github",
    owner: onGitHub[1],
    repo: onGitHub[2],
    branch,
    app: { appId: vars.APP_ID, privateKey, baseUrl },
  };
}

function webhookSecretOf(vars: Variables): string | undefined {
  if (vars.WEBHOOK_SECRET && !(vars.APP_ID && privateKeyOf(vars))) {
    throw new ConfigError([
      "WEBHOOK_SECRET belongs to a GitHub App: set APP_ID and PRIVATE_KEY or PRIVATE_KEY_PATH as well.",
    ]);
  }
  return vars.WEBHOOK_SECRET;
}

function privateKeyOf(vars: Variables): string | undefined {
  if (vars.PRIVATE_KEY) return vars.PRIVATE_KEY.replaceAll("\\n", "\n");
  if (!vars.PRIVATE_KEY_PATH) return undefined;
  try {
    return readFileSync(vars.PRIVATE_KEY_PATH, "utf8");
  } catch {
    throw new ConfigError(["PRIVATE_KEY_PATH names a file that cannot be read."]);
  }
}

/** Every secret that the configuration holds, for the redactor. */
export function secretsOf({
  adminKey,
  webhookSecret,
  secretKeys,
  modelKeys,
  database,
  mongoUrl,
  repository,
}: Config): (string | undefined)[] {
  return [
    adminKey,
    webhookSecret,
    ...(secretKeys ?? []),
    ...Object.values(modelKeys).map((provider) => provider.apiKey),
    database.engine === "mysql" ? decodeURIComponent(new URL(database.url).password) : undefined,
    ...mongoSecrets(mongoUrl),
    repository?.kind === "github" ? repository.app.privateKey : undefined,
  ];
}

/** The password as it is written and as it is meant. The address may name several hosts, so it is no URL. */
function mongoSecrets(address = ""): string[] {
  const [, written] = /^[^/]+\/\/[^:@/]*:([^@/]*)@/.exec(address) ?? [];
  if (!written) return [];
  // What has a stray % cannot be decoded.
  const decodable = /^(?:[^%]|%[0-9A-Fa-f]{2})*$/.test(written);
  return [...new Set([written, decodable ? decodeURIComponent(written) : written])];
}
