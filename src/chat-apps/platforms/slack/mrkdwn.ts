/** What a user wrote, without Slack's notation: mentions of the bot go, links and channels are spelled out. */
export function plainText(text: string, botUserId: string): string {
  return text
    .replaceAll(/<([^<>\n]*)>/g, (_all, inner: string) => spellOut(inner, botUserId))
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&")
    .trim();
}

function spellOut(inner: string, botUserId: string): string {
  const [target = "", label] = inner.split("|", 2);
  if (target === `@${botUserId}`) return "";
  if (/^[@#]/.test(target)) return label ? target.charAt(0) + label.replace(/^[@#]/, "") : target;
  if (target.startsWith("!")) return label ?? `@${target.slice(1).split("^")[0]}`;
  return label && label !== target.replace(/^mailto:/, "") ? `${label} (${target})` : (label ?? target);
}

/** Nothing in the result is a mention, a link or another control sequence of Slack. */
export const escapeMrkdwn = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** Whether a line of Markdown begins or ends a code block. */
export const isFence = (line: string): boolean => /^\s{0,3}```[^`]*$/.test(line);

/** Markdown as models write it, in Slack's mrkdwn. What stands in code stays as it is. */
export function toMrkdwn(markdown: string): string {
  let inFence = false;
  return markdown
    .replaceAll(/\r\n?/g, "\n")
    .split("\n")
    .map((line) => {
      const escaped = escapeMrkdwn(line);
      const fence = isFence(line);
      if (fence) inFence = !inFence;
      // Slack knows no languages and would show their names.
      if (fence) return inFence ? "```" : escaped.trim();
      return inFence ? escaped : formatLine(escaped);
    })
    .join("\n");
}

function formatLine(escaped: string): string {
  const heading = /^#{1,6} +(.+?) *#*$/.exec(escaped);
  if (heading?.[1]) return `*${heading[1].replaceAll("*", "")}*`;
  return escaped
    .split(/(`+[^`]*`+)/)
    .map((part, index) => (index % 2 === 1 ? part : formatText(part)))
    .join("");
}

const formatText = (text: string) =>
  text
    .replaceAll(/\*\*(?=\S)([^*]+?)(?<=\S)\*\*/g, "*$1*")
    .replaceAll(/\[([^\][|]+)\]\((https?:\/\/[^\s()|]+)\)/g, "<$2|$1>");
