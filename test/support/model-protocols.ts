import { type SimulatedEvent, type SimulatedProtocol, serverSentEvent } from "./model-streams.ts";

export interface SimulatedError {
  message: string;
  /** The error's machine-readable code, for example `insufficient_quota`. */
  code?: string | undefined;
}

/** The API that a path belongs to, when it is one whose answers can be streamed. */
export function protocolOf(path: string): SimulatedProtocol | undefined {
  const { pathname, searchParams } = new URL(path, "http://simulator");
  if (pathname.endsWith("/chat/completions")) return "chat-completions";
  if (pathname.endsWith("/responses")) return "responses";
  if (pathname.endsWith("/messages")) return "messages";
  if (pathname.endsWith(":streamGenerateContent") && searchParams.get("alt") === "sse")
    return "generate-content";
  return undefined;
}

/** The body of an error answer. */
export function encodeError(
  protocol: SimulatedProtocol,
  status: number,
  { message, code }: SimulatedError,
): Record<string, unknown> {
  switch (protocol) {
    case "chat-completions":
    case "responses":
      return { error: { message, type: code ?? "error", code: code ?? null, param: null } };
    case "messages":
      return { type: "error", error: { type: code ?? "api_error", message } };
    case "generate-content":
      return { error: { code: status, message, status: code ?? "UNKNOWN" } };
  }
}

/** An error in the middle of an answer, which has no status but Google's own. */
export function encodeStreamError(
  protocol: SimulatedProtocol,
  status: number,
  error: SimulatedError,
): SimulatedEvent {
  if (protocol !== "responses") return serverSentEvent(encodeError(protocol, status, error));
  const { message, code = "server_error" } = error;
  return serverSentEvent({ type: "error", sequence_number: 7, code, message, param: null });
}
