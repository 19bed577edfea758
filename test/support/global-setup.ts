import type { TestProject } from "vitest/node";
import { answers, findMysqlServer, startMysqlServer } from "./mysql-server.ts";
import { type DatabaseTemplate, makeTemplate } from "./template.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** `mysql://` address of a server whose user may create databases; null when MySQL is left out. */
    mysqlUrl: string | null;
    /** What databases of tests are copied from. */
    databaseTemplate: DatabaseTemplate;
  }
}

const howToInstall =
  "no mariadbd or mysqld is found; install one, such as by apt-get install mariadb-server.";

interface MysqlForTests {
  url: string | null;
  /** For the line that says what is tested. */
  note: string;
  stop(): Promise<void>;
}

/**
 * Makes a MySQL server available to every project of a run that needs one. Vitest calls this once for each of
 * them, one after the other; the first call starts the server and the last teardown ends it.
 */
export async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const root = project.vitest.getRootProject();
  if ("mysqlUrl" in root.getProvidedContext()) return undefined;
  const required = requiredEngines(process.env.REQUIRE_DATABASES ?? "");
  const mysql = await mysqlForTests(process.env.TEST_MYSQL_URL);
  if (!mysql.url && required.has("mysql")) {
    throw new Error(`REQUIRE_DATABASES names mysql, and ${howToInstall}`);
  }
  console.log(`Databases: SQLite (node:sqlite). ${mysql.note}`);
  root.provide("mysqlUrl", mysql.url);
  const { remove, ...template } = await makeTemplate(mysql.url);
  root.provide("databaseTemplate", template);
  return async () => {
    remove();
    await mysql.stop();
  };
}

/** Engines of a list such as `sqlite,mysql`. Throws on a name that no test knows. */
export function requiredEngines(list: string): ReadonlySet<string> {
  const names = list.split(",").flatMap((name) => name.trim().toLowerCase() || []);
  const unknown = names.find((name) => name !== "sqlite" && name !== "mysql");
  if (unknown) throw new Error(`REQUIRE_DATABASES names ${unknown}; it may name sqlite and mysql.`);
  return new Set(names);
}

async function mysqlForTests(givenUrl: string | undefined): Promise<MysqlForTests> {
  const nothing = async () => {};
  if (givenUrl) {
    // An address that was given and does not answer is a mistake; leaving MySQL out would hide it.
    if (!(await answers(givenUrl)))
      throw new Error("TEST_MYSQL_URL names a server that does not answer; start it, or unset it.");
    return { url: givenUrl, note: "MySQL: the server of TEST_MYSQL_URL.", stop: nothing };
  }
  const program = findMysqlServer();
  if (!program) {
    const note = `MySQL tests left out: ${howToInstall}`;
    return { url: null, note, stop: nothing };
  }
  const server = await startMysqlServer({ inMemory: true });
  return {
    url: server.url,
    note: `MySQL: a private server (${program}, port ${server.port}).`,
    stop: server.stop,
  };
}
