import type { EventEmitter } from "node:events";

type Library = typeof import("@openai/agents");

/** Where the library's tracing listens so that it can upload what is left, and where it ends the process. */
const processEvents = ["beforeExit", "SIGINT", "SIGTERM", "unhandledRejection"];

/**
 * Imports the library and takes back what the import does to the process: it starts an exporter that sends
 * traces to OpenAI, and listens for signals and for rejections, which would then be printed and end the process
 * past the service's own order. The service listens for signals before it executes runs.
 */
export async function importLibrary(): Promise<Library> {
  const emitter: EventEmitter = process;
  const before = new Map(processEvents.map((event) => [event, emitter.listeners(event)]));
  const library = await import("@openai/agents");
  library.setTracingDisabled(true);
  library.setTraceProcessors([]);
  library.setSensitiveDataLoggingEnabled(false);
  for (const [event, known] of before) {
    for (const listener of emitter.listeners(event)) {
      if (!known.includes(listener)) emitter.off(event, listener as () => void);
    }
  }
  return library;
}
