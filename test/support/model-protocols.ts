import type { SimulatedReply } from "./model-simulator.ts";

/** How the model simulator writes the same reply in each provider's format. */
export type SimulatedProtocol = "chat-completions" | "responses" | "messages" | "generate-content";

interface Plain {
  text: string | undefined;
  calls: { id: string; name: string; args: unknown; json: string }[];
  usage: { input: number; output: number; cached: number };
  finish: "stop" | "length" | "content-filter" | "refusal" | "tool-calls";
  model: string;
}

/** The body of a successful answer. */
export function encodeReply(protocol: SimulatedProtocol, reply: SimulatedReply, model: string): unknown {
  const calls = (reply.toolCalls ?? []).map(({ name, args, id }, index) => ({
    id: id ?? `call_${index + 1}`,
    name,
    args,
    json: typeof args === "string" ? args : JSON.stringify(args),
  }));
  const plain: Plain = {
    text: reply.text,
    calls,
    usage: { cached: 0, ...(reply.usage ?? { input: 10, output: 5 }) },
    finish: reply.finish ?? (calls.length > 0 ? "tool-calls" : "stop"),
    model,
  };
  switch (protocol) {
    case "chat-completions":
      return chatCompletion(plain);
    case "responses":
      return openaiResponse(plain);
    case "messages":
      return anthropicMessage(plain);
    case "generate-content":
      return googleContent(plain);
  }
}

/** The body of an error answer. */
export function encodeError(
  protocol: SimulatedProtocol,
  status: number,
  message: string,
  code?: string,
): unknown {
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

function chatCompletion({ text, calls, usage, finish, model }: Plain): unknown {
  const refused = finish === "refusal";
  return {
    id: "chatcmpl-simulated",
    object: "chat.completion",
    created: 1_760_000_000,
    model,
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: refused ? null : (text ?? null),
          ...(refused ? { refusal: text } : {}),
          ...(calls.length > 0
            ? {
                tool_calls: calls.map(({ id, name, json }) => ({
                  id,
                  type: "function",
                  function: { name, arguments: json },
                })),
              }
            : {}),
        },
        finish_reason: {
          stop: "stop",
          length: "length",
          "content-filter": "content_filter",
          refusal: "stop",
          "tool-calls": "tool_calls",
        }[finish],
      },
    ],
    usage: {
      prompt_tokens: usage.input,
      completion_tokens: usage.output,
      total_tokens: usage.input + usage.output,
      prompt_tokens_details: { cached_tokens: usage.cached },
    },
  };
}

function openaiResponse({ text, calls, usage, finish, model }: Plain): unknown {
  const part =
    finish === "refusal"
      ? { type: "refusal", refusal: text }
      : { type: "output_text", text, annotations: [] };
  const incomplete = { length: "max_output_tokens", "content-filter": "content_filter" }[finish as string];
  return {
    id: "resp_simulated",
    object: "response",
    created_at: 1_760_000_000,
    model,
    status: incomplete === undefined ? "completed" : "incomplete",
    error: null,
    incomplete_details: incomplete === undefined ? null : { reason: incomplete },
    output: [
      ...(text === undefined
        ? []
        : [{ type: "message", id: "msg_1", role: "assistant", status: "completed", content: [part] }]),
      ...calls.map(({ id, name, json }) => ({
        type: "function_call",
        id: `fc_${id}`,
        call_id: id,
        name,
        arguments: json,
        status: "completed",
      })),
    ],
    usage: {
      input_tokens: usage.input,
      input_tokens_details: { cached_tokens: usage.cached },
      output_tokens: usage.output,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: usage.input + usage.output,
    },
  };
}

function anthropicMessage({ text, calls, usage, finish, model }: Plain): unknown {
  return {
    id: "msg_simulated",
    type: "message",
    role: "assistant",
    model,
    content: [
      ...(text === undefined ? [] : [{ type: "text", text }]),
      ...calls.map(({ id, name, args }) => ({ type: "tool_use", id, name, input: args })),
    ],
    stop_reason: {
      stop: "end_turn",
      length: "max_tokens",
      "content-filter": "refusal",
      refusal: "refusal",
      "tool-calls": "tool_use",
    }[finish],
    stop_sequence: null,
    // Anthropic counts what was read from a cache apart from the input.
    usage: {
      input_tokens: usage.input - usage.cached,
      cache_read_input_tokens: usage.cached,
      cache_creation_input_tokens: 0,
      output_tokens: usage.output,
    },
  };
}

function googleContent({ text, calls, usage, finish, model }: Plain): unknown {
  return {
    candidates: [
      {
        index: 0,
        content: {
          role: "model",
          parts: [
            ...(text === undefined ? [] : [{ text }]),
            ...calls.map(({ name, args }) => ({ functionCall: { name, args } })),
          ],
        },
        finishReason: {
          stop: "STOP",
          length: "MAX_TOKENS",
          "content-filter": "SAFETY",
          refusal: "SAFETY",
          "tool-calls": "STOP",
        }[finish],
      },
    ],
    usageMetadata: {
      promptTokenCount: usage.input,
      cachedContentTokenCount: usage.cached,
      candidatesTokenCount: usage.output,
      totalTokenCount: usage.input + usage.output,
    },
    modelVersion: model,
  };
}
