/** Answers of model servers as the server-sent events of each provider's API. */

export type SimulatedProtocol = "chat-completions" | "responses" | "messages" | "generate-content";

/** What a model says, in nobody's format. */
export interface SimulatedAnswer {
  text?: string;
  /** `args` is sent as JSON, or as it is when it is text, for arguments that are no JSON. */
  toolCalls?: { name: string; args: unknown; id?: string }[];
  /** Default: 10 in, 5 out, none cached. `cached` is part of `input`. */
  usage?: { input: number; output: number; cached?: number };
  /** `stop`, or `tool-calls` when there are any, by default. `refusal` is a model's own, in `text`. */
  finish?: "stop" | "length" | "content-filter" | "refusal";
}

/** One event as it is sent. */
export type SimulatedEvent = string;

/** A stream in two parts, so that one can be left out: without `end` no answer is complete. */
export interface SimulatedStream {
  body: SimulatedEvent[];
  end: SimulatedEvent[];
}

interface Plain {
  /** The text in pieces; undefined when there is none, not even an empty one. */
  pieces: string[] | undefined;
  calls: { id: string; name: string; args: unknown; json: string[] }[];
  usage: { input: number; output: number; cached: number };
  finish: "stop" | "length" | "content-filter" | "refusal" | "tool-calls";
  model: string;
  /** Chat completions tell tokens only when they were asked to. */
  includesUsage: boolean;
}

interface StreamRequest {
  model?: string;
  stream_options?: { include_usage?: boolean };
}

/** The answer to that request, with text and arguments in several pieces. */
export function encodeStream(
  protocol: SimulatedProtocol,
  { text, toolCalls = [], usage, finish }: SimulatedAnswer,
  request: StreamRequest = {},
): SimulatedStream {
  const calls = toolCalls.map(({ name, args, id }, index) => ({
    id: id ?? `call_${index + 1}`,
    name,
    args,
    json: inPieces(typeof args === "string" ? args : JSON.stringify(args)),
  }));
  const plain: Plain = {
    pieces: text === undefined ? undefined : inPieces(text),
    calls,
    usage: { cached: 0, ...(usage ?? { input: 10, output: 5 }) },
    finish: finish ?? (calls.length > 0 ? "tool-calls" : "stop"),
    model: request.model ?? "simulated",
    includesUsage: request.stream_options?.include_usage === true,
  };
  return encoders[protocol](plain);
}

const encoders: Record<SimulatedProtocol, (plain: Plain) => SimulatedStream> = {
  "chat-completions": chatCompletionChunks,
  responses: responseEvents,
  messages: messageEvents,
  "generate-content": contentChunks,
};

/** An event as it is sent: named by its type where the API does so. */
export function serverSentEvent(data: { type?: unknown } | Record<string, unknown>): SimulatedEvent {
  const name = typeof data.type === "string" ? `event: ${data.type}\n` : "";
  return `${name}data: ${JSON.stringify(data)}\n\n`;
}

/** Up to three pieces of the same length. */
function inPieces(text: string): string[] {
  const length = Math.max(1, Math.ceil(text.length / 3));
  return Array.from({ length: Math.ceil(text.length / length) }, (_, index) =>
    text.slice(index * length, (index + 1) * length),
  );
}

function chatCompletionChunks({
  pieces = [],
  calls,
  usage,
  finish,
  model,
  includesUsage,
}: Plain): SimulatedStream {
  const chunk = (rest: object) =>
    serverSentEvent({
      id: "chatcmpl-simulated",
      object: "chat.completion.chunk",
      created: 1_760_000_000,
      model,
      ...rest,
    });
  const delta = (content: object, finish_reason: string | null = null) =>
    chunk({ choices: [{ index: 0, delta: content, finish_reason }] });
  const toolCall = (index: number, rest: object) => delta({ tool_calls: [{ index, ...rest }] });
  const reason = {
    stop: "stop",
    length: "length",
    "content-filter": "content_filter",
    refusal: "stop",
    "tool-calls": "tool_calls",
  }[finish];
  const tokens = {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cached },
  };
  return {
    body: [
      delta({ role: "assistant", content: finish === "refusal" ? null : "" }),
      ...pieces.map((piece) => delta(finish === "refusal" ? { refusal: piece } : { content: piece })),
      ...calls.flatMap(({ id, name, json }, index) => [
        toolCall(index, { id, type: "function", function: { name, arguments: "" } }),
        ...json.map((piece) => toolCall(index, { function: { arguments: piece } })),
      ]),
    ],
    end: [
      delta({}, reason),
      ...(includesUsage ? [chunk({ choices: [], usage: tokens })] : []),
      "data: [DONE]\n\n",
    ],
  };
}

function responseEvents({ pieces, calls, usage, finish, model }: Plain): SimulatedStream {
  const response = { id: "resp_simulated", object: "response", created_at: 1_760_000_000, model };
  const reasons: Partial<Record<Plain["finish"], string>> = {
    length: "max_output_tokens",
    "content-filter": "content_filter",
  };
  const reason = reasons[finish];
  const status = reason === undefined ? "completed" : "incomplete";
  const offset = pieces ? 1 : 0;
  const begun = { ...response, status: "in_progress", output: [], usage: null };
  const ended = {
    ...response,
    status,
    incomplete_details: reason === undefined ? null : { reason },
    usage: {
      input_tokens: usage.input,
      input_tokens_details: { cached_tokens: usage.cached },
      output_tokens: usage.output,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: usage.input + usage.output,
    },
  };
  const events = [
    { type: "response.created", response: begun },
    { type: "response.in_progress", response: begun },
    ...(pieces ? responseMessage(pieces, finish === "refusal") : []),
    ...calls.flatMap((call, index) => responseCall(call, offset + index)),
  ];
  return {
    body: events.map(serverSentEvent),
    end: [serverSentEvent({ type: `response.${status}`, response: ended })],
  };
}

function responseMessage(pieces: string[], isRefusal: boolean) {
  const item = { type: "message", id: "msg_1", role: "assistant" };
  const text = pieces.join("");
  const kind = isRefusal ? "refusal" : "output_text";
  const content = isRefusal
    ? { type: kind, refusal: text }
    : { type: kind, text, annotations: [], logprobs: [] };
  const at = { item_id: item.id, output_index: 0, content_index: 0 };
  return [
    {
      type: "response.output_item.added",
      output_index: 0,
      item: { ...item, status: "in_progress", content: [] },
    },
    { type: "response.content_part.added", ...at, part: { type: kind } },
    ...pieces.map((delta) => ({ type: `response.${kind}.delta`, ...at, delta })),
    { type: `response.${kind}.done`, ...at, ...(isRefusal ? { refusal: text } : { text }) },
    { type: "response.content_part.done", ...at, part: content },
    {
      type: "response.output_item.done",
      output_index: 0,
      item: { ...item, status: "completed", content: [content] },
    },
  ];
}

function responseCall({ id, name, json }: Plain["calls"][number], output_index: number) {
  const item = { type: "function_call", id: `fc_${id}`, call_id: id, name };
  const at = { item_id: item.id, output_index };
  const whole = json.join("");
  return [
    {
      type: "response.output_item.added",
      output_index,
      item: { ...item, arguments: "", status: "in_progress" },
    },
    ...json.map((delta) => ({ type: "response.function_call_arguments.delta", ...at, delta })),
    { type: "response.function_call_arguments.done", ...at, arguments: whole },
    {
      type: "response.output_item.done",
      output_index,
      item: { ...item, arguments: whole, status: "completed" },
    },
  ];
}

function messageEvents({ pieces, calls, usage, finish, model }: Plain): SimulatedStream {
  const block = (index: number, content_block: object, deltas: object[]) => [
    { type: "content_block_start", index, content_block },
    ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ];
  // Anthropic counts what was read from a cache apart from the input.
  const input = {
    input_tokens: usage.input - usage.cached,
    cache_read_input_tokens: usage.cached,
    cache_creation_input_tokens: 0,
  };
  const reason = {
    stop: "end_turn",
    length: "max_tokens",
    "content-filter": "refusal",
    refusal: "refusal",
    "tool-calls": "tool_use",
  }[finish];
  const offset = pieces ? 1 : 0;
  const message = {
    id: "msg_simulated",
    type: "message",
    role: "assistant",
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...input, output_tokens: 1 },
  };
  const events = [
    { type: "message_start", message },
    ...(pieces
      ? block(
          0,
          { type: "text", text: "" },
          pieces.map((text) => ({ type: "text_delta", text })),
        )
      : []),
    { type: "ping" },
    ...calls.flatMap(({ id, name, json }, index) =>
      block(
        offset + index,
        { type: "tool_use", id, name, input: {} },
        json.map((partial_json) => ({ type: "input_json_delta", partial_json })),
      ),
    ),
  ];
  const end = [
    {
      type: "message_delta",
      delta: { stop_reason: reason, stop_sequence: null },
      usage: { ...input, output_tokens: usage.output },
    },
    { type: "message_stop" },
  ];
  return { body: events.map(serverSentEvent), end: end.map(serverSentEvent) };
}

/** Google sends the arguments of a call in one piece. */
function contentChunks({ pieces = [], calls, usage, finish, model }: Plain): SimulatedStream {
  const chunk = (part: object, rest: object = {}) =>
    serverSentEvent({
      candidates: [{ index: 0, content: { role: "model", parts: [part] }, ...rest }],
      usageMetadata: {
        promptTokenCount: usage.input,
        cachedContentTokenCount: usage.cached,
        candidatesTokenCount: usage.output,
        totalTokenCount: usage.input + usage.output,
      },
      modelVersion: model,
    });
  const reason = {
    stop: "STOP",
    length: "MAX_TOKENS",
    "content-filter": "SAFETY",
    refusal: "SAFETY",
    "tool-calls": "STOP",
  }[finish];
  return {
    body: [
      ...pieces.map((text) => chunk({ text })),
      ...calls.map(({ name, args }) => chunk({ functionCall: { name, args } })),
    ],
    end: [chunk({ text: "" }, { finishReason: reason })],
  };
}
