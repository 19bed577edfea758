/** What an admin copies from the platform, for one chat app. */
export interface ChatCredentials {
  clientId: string;
  clientSecret: string;
  signingSecret: string;
}

export interface ChatTokens {
  accessToken: string;
  /** With it the access token is renewed before it expires. */
  refreshToken?: string | undefined;
}

export interface IssuedTokens extends ChatTokens {
  /** Milliseconds that the access token is good for; undefined: until it is revoked. */
  expiresInMs: number | undefined;
}

/** What a finished installation gave. */
export interface Installation extends IssuedTokens {
  teamId: string;
  teamName: string;
  botUserId: string;
}

/** A request as it came, its bytes untouched. */
export interface SignedRequest {
  /** `name` in lower case. */
  header(name: string): string | undefined;
  body: Buffer;
}

interface Place {
  channel: string;
  /** Name of the conversation in the channel. */
  thread: string;
}

/** What the platform tells of. `ts` names a message, and the names of one conversation sort by time. */
export type ChatEvent =
  | ({ kind: "message"; teamId: string; userTeamId: string; ts: string; user: string; text: string } & Place)
  /** The app lost a token, or all of them; it may have others by now. */
  | { kind: "removed"; teamId: string; why: string }
  /** Nothing that anybody answers. */
  | { kind: "other"; why: string };

/** What a request asks for. */
export type ChatRequest =
  | { kind: "answer"; body: object }
  | { kind: "event"; id: string; name: string; event: ChatEvent };

export interface ChatUser {
  /** Undefined unless the platform has made sure that it is the user's own. */
  verifiedEmail: string | undefined;
}

/** Addresses of this service that the platform has to know. */
export interface ChatAddresses {
  events: string;
  redirect: string;
}

/**
 * A chat platform. Calls of it throw ChatFailure and never try again by themselves: waiting is the job queue's part.
 */
export interface ChatPlatform {
  id: string;
  /** Whether the request was signed with that secret, and lately. `now` in epoch milliseconds. */
  isSigned(secret: string, request: SignedRequest, now: number): boolean;
  /** Throws a 400 AppError. */
  read(request: SignedRequest): ChatRequest;
  /** Origins that the installation's form may lead to, besides our own. */
  formTargets: readonly string[];
  authorizeUrl(input: { clientId: string; state: string; redirectUri: string }): string;
  /** What is to be pasted at the platform to make the app there. */
  manifest(name: string, addresses: ChatAddresses): Record<string, unknown>;
  exchange(credentials: ChatCredentials, code: string, redirectUri: string): Promise<Installation>;
  refresh(credentials: ChatCredentials, refreshToken: string): Promise<IssuedTokens>;
  revoke(token: string): Promise<void>;
  /** Does nothing but throw when the token is no good. */
  check(token: string): Promise<void>;
  user(token: string, userId: string): Promise<ChatUser>;
  /** Returns the message's name. */
  post(token: string, message: Place & { text: string }): Promise<string>;
  update(token: string, message: { channel: string; ts: string; text: string }): Promise<void>;
  /** What a user wrote, without the platform's own notation and without the bot's name. */
  plainText(text: string, botUserId: string): string;
  /** Markdown as texts of the platform, each of a length that it takes in one message; never none. */
  render(markdown: string): string[];
  /** The same of Markdown that is still being written, as one text; '' while there is nothing to be seen. */
  renderPartial(markdown: string): string;
  /** How often an app may change messages to show how far runs are, which leaves enough for answers. */
  updatesPerMinute: number;
}
