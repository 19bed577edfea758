import {
  type DestinationStream,
  destination,
  type Logger,
  type LoggerOptions,
  pino,
  stdSerializers,
} from "pino";
import type { Redactor } from "./redact.ts";

export type { DestinationStream as LogStream, Logger } from "pino";

/** Characters that JSON leaves alone but that a terminal or a log viewer may act on. */
const unsafe = /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

const escapeUnsafe = (line: string) =>
  line.replace(unsafe, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);

/**
 * JSON lines on standard output. Each line passes through the redactor as a whole, so a secret inside an
 * error message or a URL does not get out either.
 */
export function createLogger(level: string, redactor: Redactor, stream?: DestinationStream): Logger {
  const options: LoggerOptions = {
    level,
    base: undefined,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: stdSerializers.err },
    hooks: { streamWrite: (line) => escapeUnsafe(redactor.scrub(line)) },
  };
  return pino(options, stream ?? destination({ dest: 1, sync: false, minLength: 4096, periodicFlush: 250 }));
}
