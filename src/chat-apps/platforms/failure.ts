/**
 * `unauthorised`: the tokens are no good any more. `gone`: the message to be changed is not there. `refused`: it would
 * be so again. `rate_limited` and `unavailable`: it may be otherwise later.
 */
export type ChatFailureKind = "unauthorised" | "gone" | "refused" | "rate_limited" | "unavailable";

/** A call of a chat platform did not work. The message is fit for members: it holds no text of users and no secret. */
export class ChatFailure extends Error {
  readonly kind: ChatFailureKind;
  /** Milliseconds to wait, as the platform asked. */
  readonly retryAfterMs: number;

  constructor(kind: ChatFailureKind, message: string, retryAfterMs = 0) {
    super(message);
    this.name = "ChatFailure";
    this.kind = kind;
    this.retryAfterMs = retryAfterMs;
  }
}
