import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { boundedContent } from "../bounded-content.ts";

/** What a model is told of an MCP tool's answer: its structured content, or its texts. Media are only named. */
export function resultContent({ content, structuredContent }: CallToolResult): unknown {
  if (structuredContent !== undefined) return boundedContent(structuredContent);
  return boundedContent(content.map(textOf).join("\n"));
}

function textOf(block: CallToolResult["content"][number]): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
    case "audio":
      return `[${block.type} (${block.mimeType}) left out]`;
    case "resource":
      return "text" in block.resource ? block.resource.text : `[resource ${block.resource.uri} left out]`;
    case "resource_link":
      return `[resource ${block.uri}]`;
  }
}
