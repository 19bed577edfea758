import { AISDKError } from "ai";
import { type Answer, gatherAnswer } from "./gather-answer.ts";
import type { ModelClient, SdkCall } from "./sdk-types.ts";
import { brokenStream, streamError } from "./stream-errors.ts";

export interface AnswerListener {
  /** The provider's address, for errors. */
  url: string;
  /** Told every piece of text as it comes, reasoning left out. */
  onText(text: string): void;
}

/**
 * Makes one call and reads the stream to its end. Only a complete answer is one: rejects with what the provider
 * reports in the stream, with a broken connection when the stream ends before the answer does, and when the call's
 * signal is aborted. The connection is closed as soon as nobody reads on.
 */
export async function readAnswer(
  client: ModelClient,
  call: SdkCall,
  { url, onText }: AnswerListener,
): Promise<Answer> {
  const gathering = gatherAnswer();
  const { stream, request, response } = await understood(client.doStream(call));
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value: part } = await understood(reader.read());
      if (done) break;
      if (part.type === "error") throw streamError(part.error, url);
      gathering.add(part);
      if (part.type === "text-delta") onText(part.delta);
    }
  } finally {
    // Not waited for: a client's stream may have another reader inside.
    reader.cancel().catch(() => {});
  }
  const answer = gathering.answer();
  if (!answer) throw brokenStream(url);
  return { ...answer, ...(request ? { request } : {}), response: { ...answer.response, ...response } };
}

/**
 * Clients check what they read, but not everywhere: whatever else they throw comes of an answer that they did not
 * expect. Errors of the SDK and aborted calls stay what they are.
 */
async function understood<T>(work: PromiseLike<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof Error) || AISDKError.isInstance(error)) throw error;
    throw new AISDKError({ name: error.name, message: error.message, cause: error });
  }
}
