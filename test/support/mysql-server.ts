import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  accessSync,
  constants,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { createConnection } from "mysql2/promise";
import { memoryDirectory } from "./memory-directory.ts";

const run = promisify(execFile);

/** How long a server may take from its start to its first answer; milliseconds. */
const startLimit = 60_000;

export interface MysqlServer {
  /** `mysql://` address of an empty database, as a user who may do everything, creating databases included. */
  readonly url: string;
  readonly port: number;
  /** Process id of the server that runs now, or ran last. */
  readonly pid: number;
  /** Ends the server as a power cut would (SIGKILL) and keeps its data. */
  kill(): Promise<void>;
  /** Starts the server again on the same port and data, ending it first when it still runs; resolves when it answers. */
  restart(): Promise<void>;
  /** Ends the server and removes its directory; does nothing when called again. */
  stop(): Promise<void>;
}

/** Path of the MariaDB or MySQL server program of this machine; null when there is none. */
export function findMysqlServer(): string | null {
  return findProgram(["mariadbd", "mysqld"]);
}

export interface MysqlServerSetup {
  /** Keeps the data in memory where the machine has room for it: much faster, and gone with the machine's power. */
  inMemory?: boolean;
}

/**
 * Starts a server of its own in a new temporary directory, reachable on loopback only, with the durability a
 * fresh installation has as long as its data is on disk. It ends with this process, however that ends. Throws
 * when no server is installed or it does not come up; the message then has the end of the server's log.
 */
export async function startMysqlServer({ inMemory = false }: MysqlServerSetup = {}): Promise<MysqlServer> {
  const program = findMysqlServer();
  if (!program) throw new Error("No MariaDB or MySQL server is installed; install mariadb-server.");
  const parent = (inMemory && memoryDirectory()) || tmpdir();
  const directory = mkdtempSync(join(parent, "rollcall-mysql-"));
  const guard = startGuard(directory);
  try {
    const password = randomBytes(12).toString("hex");
    writeFileSync(join(directory, "init.sql"), initSql(password), { mode: 0o600 });
    await initialise(program, directory);
    const port = await freePort();
    const url = `mysql://rollcall:${password}@127.0.0.1:${port}/rollcall`;
    const start = () => launch(program, directory, port, url);
    return await handle({ start, port, url, directory, guard });
  } catch (error) {
    discard(directory, guard);
    throw error;
  }
}

interface Parts {
  start(): Promise<ChildProcess>;
  port: number;
  url: string;
  directory: string;
  guard: ChildProcess;
}

async function handle({ start, port, url, directory, guard }: Parts): Promise<MysqlServer> {
  let server = await start();
  const kill = async () => {
    const ended = exitOf(server);
    server.kill("SIGKILL");
    await ended;
    writeFileSync(join(directory, "pid"), "");
  };
  return {
    url,
    port,
    get pid() {
      return server.pid ?? 0;
    },
    kill,
    async restart() {
      await kill();
      server = await start();
    },
    async stop() {
      if (!existsSync(directory)) return;
      await kill();
      discard(directory, guard);
    },
  };
}

/**
 * A shell that outlives this process by a moment: its input closes when this process ends, even by SIGKILL,
 * and it then ends the server and removes the directory.
 */
function startGuard(directory: string): ChildProcess {
  const script = 'read -r _; pid=$(cat "$1/pid"); [ -n "$pid" ] && kill -9 "$pid"; rm -rf "$1"';
  writeFileSync(join(directory, "pid"), "");
  const guard = spawn("sh", ["-c", script, "sh", directory], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  guard.unref();
  return guard;
}

function discard(directory: string, guard: ChildProcess): void {
  guard.kill("SIGKILL");
  rmSync(directory, { recursive: true, force: true, maxRetries: 3 });
}

/** Run at every start; each statement has to be one line. */
function initSql(password: string): string {
  return [
    "CREATE DATABASE IF NOT EXISTS rollcall CHARACTER SET utf8mb4;",
    `CREATE USER IF NOT EXISTS 'rollcall'@'127.0.0.1' IDENTIFIED BY '${password}';`,
    "GRANT ALL PRIVILEGES ON *.* TO 'rollcall'@'127.0.0.1' WITH GRANT OPTION;",
    "",
  ].join("\n");
}

/** The servers refuse to run as root unless told so. */
const asUser = process.getuid?.() === 0 ? ["--user=root"] : [];

async function initialise(program: string, directory: string): Promise<void> {
  const { stdout } = await run(program, ["--no-defaults", "--version"]);
  const datadir = `--datadir=${join(directory, "data")}`;
  if (!stdout.includes("MariaDB")) {
    await run(program, ["--no-defaults", "--initialize-insecure", datadir, ...asUser]);
    return;
  }
  const installer = findProgram(["mariadb-install-db", "mysql_install_db"]);
  if (!installer)
    throw new Error("mariadb-install-db is missing beside the MariaDB server; reinstall mariadb-server.");
  await run(installer, ["--no-defaults", datadir, "--skip-test-db", "--skip-name-resolve", ...asUser]);
}

async function launch(program: string, directory: string, port: number, url: string): Promise<ChildProcess> {
  const logFile = join(directory, "server.log");
  const log = openSync(logFile, "a", 0o600);
  const server = spawn(program, serverOptions(directory, port), { stdio: ["ignore", log, log] });
  server.on("error", () => {}); // A failed start is reported by the loop below.
  writeFileSync(join(directory, "pid"), String(server.pid ?? ""));
  server.unref();
  const deadline = performance.now() + startLimit;
  while (!(await answers(url))) {
    const ended = server.pid === undefined || server.exitCode !== null || server.signalCode !== null;
    if (!ended && performance.now() < deadline) await sleep(20);
    else {
      server.kill("SIGKILL");
      throw new Error(
        `${program} did not start. Its log ends:\n${readFileSync(logFile, "utf8").slice(-2_000)}`,
      );
    }
  }
  return server;
}

function serverOptions(directory: string, port: number): string[] {
  return [
    "--no-defaults",
    ...asUser,
    `--datadir=${join(directory, "data")}`,
    `--socket=${join(directory, "socket")}`,
    `--pid-file=${join(directory, "server.pid")}`,
    `--tmpdir=${directory}`,
    `--secure-file-priv=${directory}`,
    `--init-file=${join(directory, "init.sql")}`,
    `--port=${port}`,
    "--bind-address=127.0.0.1",
    "--skip-name-resolve",
    "--skip-log-bin",
    "--max-connections=300",
    "--performance-schema=OFF",
    "--innodb-buffer-pool-size=64M",
    "--innodb-buffer-pool-load-at-startup=OFF",
    "--innodb-buffer-pool-dump-at-shutdown=OFF",
    "--loose-mysqlx=OFF",
  ];
}

/**
 * True when the server at a `mysql://` address answers a query within two seconds; false for any failure.
 */
export async function answers(url: string): Promise<boolean> {
  try {
    const connection = await createConnection({ uri: url, connectTimeout: 2_000 });
    try {
      await connection.query({ sql: "SELECT 1", timeout: 2_000 });
      return true;
    } finally {
      connection.destroy();
    }
  } catch {
    return false;
  }
}

function exitOf(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return Promise.resolve();
  server.ref();
  return new Promise((resolve) => server.once("exit", () => resolve()));
}

/**
 * A free port below the range that kernels take client ports from: while the server is down, a client that
 * keeps trying cannot be given the same port and end up connected to itself.
 */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 15_000 + Math.floor(Math.random() * 15_000);
    const free = await new Promise<boolean>((resolve) => {
      const probe = createServer();
      probe.once("error", () => resolve(false));
      probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
    });
    if (free) return port;
  }
}

function findProgram(names: readonly string[]): string | null {
  const folders = [
    ...(process.env.PATH ?? "").split(delimiter),
    "/usr/sbin",
    "/usr/local/sbin",
    "/usr/libexec",
  ];
  const paths = names.flatMap((name) => folders.map((folder) => join(folder, name)));
  return paths.find(isExecutable) ?? null;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
