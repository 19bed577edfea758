/** What of one tool call reaches the model, in UTF-16 units of its JSON. */
const maxContent = 64 * 1024;

/** A tool's answer as it is, or its beginning as text when it would crowd everything else out of the model's context. */
export function boundedContent(content: unknown, max = maxContent): unknown {
  const text = typeof content === "string" ? content : (JSON.stringify(content) ?? "null");
  if (text.length <= max) return content;
  return {
    truncated: true,
    note: `The answer has ${text.length} characters; this is its beginning. Ask for less.`,
    beginning: text.slice(0, max).toWellFormed(),
  };
}
