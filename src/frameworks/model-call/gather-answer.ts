import type { SdkModel } from "./sdk-types.ts";

/** What a model said, whole. */
export type Answer = Awaited<ReturnType<SdkModel["doGenerate"]>>;

type AnswerPart = Answer["content"][number];
type SpokenPart = Extract<AnswerPart, { type: "text" | "reasoning" }>;

type BlockPart = Extract<StreamPart, { type: `${SpokenPart["type"]}-${"start" | "delta" | "end"}` }>;

type AnswerStream = Awaited<ReturnType<SdkModel["doStream"]>>["stream"];
export type StreamPart = AnswerStream extends ReadableStream<infer Part> ? Part : never;

/** An answer while it comes. */
export interface Gathering {
  /** Takes the next part of the stream. Parts of the type `error` are the reader's business. */
  add(part: StreamPart): void;
  /** The answer; undefined as long as the provider has not ended it. */
  answer(): Answer | undefined;
}

/** The part that only streams have: what Anthropic says before the answer. */
const preamble = "anthropic.message_start";

/**
 * Puts the parts of a stream together to what `doGenerate` would have answered. Texts may come in any pieces, and
 * blocks may be under way at the same time. Of the provider's metadata of a block the last given counts, as in the SDK.
 */
export function gatherAnswer(): Gathering {
  const content: AnswerPart[] = [];
  const speak = createBlocks(content);
  let warnings: Answer["warnings"] = [];
  let response: Answer["response"] = {};
  let finish: Extract<StreamPart, { type: "finish" }> | undefined;

  return {
    add(part) {
      switch (part.type) {
        case "text-start":
        case "text-delta":
        case "text-end":
          return speak("text", part);
        case "reasoning-start":
        case "reasoning-delta":
        case "reasoning-end":
          return speak("reasoning", part);
        case "stream-start":
          warnings = part.warnings;
          return;
        case "response-metadata":
          response = metadataOf(part);
          return;
        case "finish":
          finish = part;
          return;
        default:
          if (isContent(part)) content.push(part);
      }
    },
    answer() {
      if (!finish || isCutShort(finish.finishReason)) return undefined;
      const { type: _, ...end } = finish;
      return { content, ...end, response, warnings };
    },
  };
}

/** Adds each block of text or reasoning to the content when it begins, and to the block what comes of it. */
function createBlocks(content: AnswerPart[]): (type: SpokenPart["type"], part: BlockPart) => void {
  const open = new Map<string, SpokenPart>();
  return (type, part) => {
    const key = `${type} ${part.id}`;
    // Clients use an id again for the next block, and a server may leave the beginning of one out.
    const known = part.type.endsWith("-start") ? undefined : open.get(key);
    const block: SpokenPart = known ?? { type, text: "" };
    if (!known) {
      open.set(key, block);
      content.push(block);
    }
    if ("delta" in part) block.text += part.delta;
    if ("citations" in part && part.citations && block.type === "text") block.citations = part.citations;
    if (part.providerMetadata) block.providerMetadata = part.providerMetadata;
  };
}

function metadataOf({ type: _, ...metadata }: Extract<StreamPart, { type: "response-metadata" }>) {
  return metadata;
}

type OtherPart = Exclude<StreamPart, BlockPart | { type: "stream-start" | "response-metadata" | "finish" }>;

/** Whether a part belongs to an answer as it is. */
function isContent(part: OtherPart): part is Extract<OtherPart, AnswerPart> {
  switch (part.type) {
    case "tool-call":
    case "tool-approval-request":
    case "file":
    case "reasoning-file":
    case "source":
      return true;
    case "tool-result":
      // Others follow in its place.
      return part.preliminary !== true;
    case "custom":
      return part.kind !== preamble;
    // A call comes once more as a whole.
    case "tool-input-start":
    case "tool-input-delta":
    case "tool-input-end":
    case "ping":
    case "raw":
    case "error":
      return false;
  }
}

/** Clients finish so, without a word of the provider's own, when the stream was over before the answer was. */
function isCutShort({ unified, raw }: Answer["finishReason"]): boolean {
  return raw === undefined && (unified === "interrupted" || unified === "other");
}

/** What an answer says, without its reasoning. */
export function textOf({ content }: Pick<Answer, "content">): string {
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}
