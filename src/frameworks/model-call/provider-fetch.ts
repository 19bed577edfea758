import { APICallError } from "ai";

/** More than the details of a failure hold, so that a key in it is not cut in two before it is scrubbed. */
const longestBeginning = 16 * 1024;

/**
 * The `fetch` of every client. Follows no redirect: it would carry keys and messages to an address that nobody
 * configured. All answers are asked for as streams; one that is JSON or a page instead is an APICallError with its
 * beginning, where a client would see a stream without events.
 */
export const providerFetch: typeof fetch = async (input, init) => {
  const response = await fetch(input, { ...init, redirect: "error" });
  const type = response.headers.get("content-type") ?? "";
  if (!response.ok || !/\b(?:json|html)\b/i.test(type)) return response;
  throw new APICallError({
    message: `The answer should be a stream and is ${type}.`,
    url: input instanceof Request ? input.url : String(input),
    requestBodyValues: {},
    statusCode: response.status,
    responseBody: await beginningOf(response),
    isRetryable: false,
  });
};

async function beginningOf({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length >= longestBeginning) break;
  }
  return text;
}
