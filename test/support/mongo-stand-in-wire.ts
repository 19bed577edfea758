import { type Document, deserialize, serialize } from "bson";

/** One message of a driver: a command, and what an answer to it has to carry. */
export interface MongoRequest {
  id: number;
  /** The handshake comes in the form that old servers know, and is answered in it. */
  legacy: boolean;
  /** The driver waits for no answer. */
  silent: boolean;
  command: Document;
}

const opReply = 1;
const opQuery = 2004;
const opMsg = 2013;
const headerLength = 16;
const moreToCome = 2;

/** Takes whole messages off the front of `bytes`; `rest` is the beginning of the next one. */
export function readRequests(bytes: Buffer): { requests: MongoRequest[]; rest: Buffer } {
  const requests: MongoRequest[] = [];
  let rest = bytes;
  while (rest.length >= 4 && rest.length >= rest.readInt32LE(0)) {
    const length = rest.readInt32LE(0);
    requests.push(readRequest(rest.subarray(0, length)));
    rest = rest.subarray(length);
  }
  return { requests, rest };
}

function readRequest(message: Buffer): MongoRequest {
  const id = message.readInt32LE(4);
  const opCode = message.readInt32LE(12);
  const body = message.subarray(headerLength);
  if (opCode === opQuery) {
    const afterName = body.indexOf(0, 4) + 1;
    return { id, legacy: true, silent: false, command: documentAt(body, afterName + 8).document };
  }
  if (opCode !== opMsg) throw new Error(`The stand-in does not speak op code ${opCode}.`);
  const silent = (body.readUInt32LE(0) & moreToCome) !== 0;
  return { id, legacy: false, silent, command: readSections(body.subarray(4)) };
}

/** The command's own document, and the lists of documents that were sent beside it. */
function readSections(bytes: Buffer): Document {
  const command: Document = {};
  let at = 0;
  while (at < bytes.length) {
    const kind = bytes[at];
    at += 1;
    if (kind === 0) {
      const { document, end } = documentAt(bytes, at);
      Object.assign(command, document);
      at = end;
      continue;
    }
    const sectionEnd = at + bytes.readInt32LE(at);
    const nameEnd = bytes.indexOf(0, at + 4);
    const documents: Document[] = [];
    command[bytes.toString("utf8", at + 4, nameEnd)] = documents;
    at = nameEnd + 1;
    while (at < sectionEnd) {
      const { document, end } = documentAt(bytes, at);
      documents.push(document);
      at = end;
    }
  }
  return command;
}

function documentAt(bytes: Buffer, at: number): { document: Document; end: number } {
  const end = at + bytes.readInt32LE(at);
  return { document: deserialize(bytes.subarray(at, end)), end };
}

/** The message that answers a request. */
export function writeReply({ id, legacy }: MongoRequest, answer: Document): Buffer {
  const body = Buffer.from(serialize(answer));
  const before = legacy ? legacyPrefix() : Buffer.alloc(5);
  const header = Buffer.alloc(headerLength);
  header.writeInt32LE(headerLength + before.length + body.length, 0);
  header.writeInt32LE(id, 8);
  header.writeInt32LE(legacy ? opReply : opMsg, 12);
  return Buffer.concat([header, before, body]);
}

/** Flags, cursor and offset are zero; one document follows. */
function legacyPrefix(): Buffer {
  const prefix = Buffer.alloc(20);
  prefix.writeInt32LE(1, 16);
  return prefix;
}
