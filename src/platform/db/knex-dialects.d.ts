// Knex ships its dialects without types. Only what our two clients override is declared.
declare module "knex/lib/dialects/better-sqlite3/index.js" {
  export default class BetterSqliteClient {
    constructor(config: unknown);
    queryCompiler(...builder: unknown[]): object;
  }
}

declare module "knex/lib/dialects/mysql2/index.js" {
  export default class Mysql2Client {
    constructor(config: unknown);
    _query(connection: unknown, query: unknown): Promise<unknown>;
  }
}
