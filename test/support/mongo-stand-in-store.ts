import { type Document, Long, ObjectId } from "bson";
import { aggregate, find, Query, update } from "mingo";

/** A failure that the driver tells its caller as a MongoServerError. */
export class MongoFailure extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

const badValue = 2;

interface Index {
  name: string;
  key: Record<string, unknown>;
  unique?: boolean;
}

interface Collection {
  documents: Document[];
  indexes: Index[];
}

type Answer = (command: Document, collection: Collection) => Document;

const maxBsonObjectSize = 16 * 1024 * 1024;

/** Everything in the first batch: there is never a second one to ask for. */
const cursorOf = (firstBatch: Document[]) => ({ id: Long.ZERO, ns: "stand.in", firstBatch });

const hello: Answer = () => ({
  ismaster: true,
  isWritablePrimary: true,
  helloOk: true,
  maxBsonObjectSize,
  maxMessageSizeBytes: 3 * maxBsonObjectSize,
  maxWriteBatchSize: 100_000,
  minWireVersion: 0,
  maxWireVersion: 21,
  readOnly: false,
});

const onCollection: Record<string, Answer> = {
  find: ({ filter, sort, skip = 0, limit = 0 }, { documents }) => {
    const found = sorted(find<Document>(documents, filter ?? {}).all(), sort).slice(
      skip,
      limit > 0 ? skip + limit : undefined,
    );
    return { cursor: cursorOf(found) };
  },
  aggregate: ({ pipeline }, { documents }) => ({ cursor: cursorOf(aggregate(documents, pipeline)) }),
  insert: (command, collection) => {
    for (const document of command.documents) insert(collection, document);
    return { n: command.documents.length };
  },
  update: ({ updates }, collection) => {
    const results = (updates as Document[]).map(({ q, u, multi, upsert }) =>
      change(collection, q, u, { multi, upsert }),
    );
    const n = results.reduce((sum, { matched, upserted }) => sum + matched.length + (upserted ? 1 : 0), 0);
    return { n, nModified: n };
  },
  delete: ({ deletes }, collection) => {
    let n = 0;
    for (const { q, limit } of deletes as Document[]) {
      const found = matching(collection, q).slice(0, limit > 0 ? limit : undefined);
      collection.documents = collection.documents.filter((document) => !found.includes(document));
      n += found.length;
    }
    return { n };
  },
  findAndModify: ({ query, update: u, sort, upsert, new: after }, collection) => {
    const { matched, before, upserted } = change(collection, query, u, { sort, upsert });
    const value = after ? (matched[0] ?? upserted) : before;
    return {
      value: value ?? null,
      lastErrorObject: { n: matched.length, updatedExisting: matched.length > 0 },
    };
  },
  createIndexes: ({ indexes }, collection) => {
    for (const index of indexes as Index[]) {
      if (collection.indexes.some(({ name }) => name === index.name)) continue;
      if (index.unique)
        collection.documents.forEach((document, at, all) => {
          refuseDuplicate(index, all.slice(0, at), document);
        });
      collection.indexes.push(index);
    }
    return {};
  },
  listIndexes: (_, { indexes }) => ({ cursor: cursorOf(indexes) }),
};

/** Databases in memory. `run` answers a command as MongoDB would, for what drivers of Agenda ask. */
export function createMongoStore() {
  const databases = new Map<string, Map<string, Collection>>();

  function answer(name: string, command: Document): Document {
    const collections = databases.get(command.$db) ?? new Map<string, Collection>();
    databases.set(command.$db, collections);
    switch (name) {
      case "hello":
      case "isMaster":
      case "ismaster":
        return hello(command, { documents: [], indexes: [] });
      case "ping":
      case "endSessions":
      case "killCursors":
        return {};
      case "buildInfo":
        return { version: "7.0.0", versionArray: [7, 0, 0, 0] };
      case "listCollections": {
        const names = [...collections.keys()].map((each) => ({ name: each, type: "collection" }));
        return { cursor: cursorOf(names) };
      }
      case "drop":
        collections.delete(command.drop);
        return {};
      case "dropDatabase":
        databases.delete(command.$db);
        return {};
      default: {
        const run = onCollection[name];
        if (!run) throw new MongoFailure(59, `The stand-in knows no command ${name}.`);
        const collection = collections.get(command[name]) ?? { documents: [], indexes: [] };
        collections.set(command[name], collection);
        return run(command, collection);
      }
    }
  }

  return {
    run(command: Document): Document {
      const [name = ""] = Object.keys(command);
      try {
        return { ...answer(name, command), ok: 1 };
      } catch (error) {
        const code = error instanceof MongoFailure ? error.code : badValue;
        return { ok: 0, code, errmsg: String(error) };
      }
    },
  };
}

const matching = ({ documents }: Collection, query: Document) => {
  const wanted = new Query(query);
  return documents.filter((document) => wanted.test(document));
};

/** mingo refuses to sort by nothing. */
function sorted(documents: Document[], sort: Document = {}): Document[] {
  if (Object.keys(sort).length === 0) return documents;
  return find<Document>(documents, {})
    .sort(sort as Record<string, 1 | -1>)
    .all();
}

function change(
  collection: Collection,
  query: Document,
  { $setOnInsert, ...modifier }: Document,
  { multi = false, upsert = false, sort = {} }: { multi?: boolean; upsert?: boolean; sort?: Document },
) {
  const found = sorted(matching(collection, query), sort);
  const matched = multi ? found : found.slice(0, 1);
  const before = matched[0] && { ...matched[0] };
  for (const document of matched) applyTo(document, modifier);
  if (matched.length > 0 || !upsert) return { matched, before, upserted: undefined };
  const upserted = equalities(query);
  applyTo(upserted, { ...modifier, $set: { ...modifier.$set, ...$setOnInsert } });
  insert(collection, upserted);
  return { matched, before, upserted };
}

function applyTo(document: Document, modifier: Document): void {
  if (Object.keys(modifier).length > 0) update(document, modifier);
}

/** What an upsert's new document begins with: the fields that its query wants to be equal to something. */
function equalities(query: Document): Document {
  const document: Document = {};
  for (const [path, value] of Object.entries(query)) {
    if (path.startsWith("$") || isOperator(value)) continue;
    const keys = path.split(".");
    const last = keys.pop() ?? path;
    let target = document;
    for (const key of keys) {
      target[key] ??= {};
      target = target[key];
    }
    target[last] = value;
  }
  return document;
}

function isOperator(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).some((key) => key.startsWith("$"));
}

function insert(collection: Collection, document: Document): void {
  document._id ??= new ObjectId();
  for (const index of collection.indexes)
    if (index.unique) refuseDuplicate(index, collection.documents, document);
  collection.documents.push(document);
}

function refuseDuplicate({ name, key }: Index, others: readonly Document[], document: Document): void {
  const paths = Object.keys(key).map((path) => path.split("."));
  const valueAt = (from: Document, path: string[]) =>
    path.reduce<unknown>((value, part) => (value as Document | undefined)?.[part], from) ?? null;
  const values = paths.map((path) => valueAt(document, path));
  if (others.some((other) => paths.every((path, index) => valueAt(other, path) === values[index])))
    throw new MongoFailure(11_000, `E11000 duplicate key error: index ${name}`);
}
