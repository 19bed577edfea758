/** What an MCP server may send in one response, bytes. */
const maxResponseBytes = 8 * 1024 * 1024;

/**
 * A fetch for servers that somebody else runs: redirects are refused (the headers hold secrets), a response
 * breaks off at 8 MiB, and everything ends with `signal`. The stream of messages that nobody asked for, which
 * is what MCP uses GET for, is never opened.
 */
export function boundedFetch(signal: AbortSignal): typeof fetch {
  return async (input, init = {}) => {
    if (init.method === "GET") return new Response(null, { status: 405 });
    const signals = init.signal ? AbortSignal.any([signal, init.signal]) : signal;
    const response = await fetch(input, { ...init, redirect: "error", signal: signals });
    if (!response.body) return response;
    let size = 0;
    const bounded = response.body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          size += chunk.length;
          if (size > maxResponseBytes) controller.error(new Error("The response is larger than 8 MiB."));
          else controller.enqueue(chunk);
        },
      }),
    );
    const { status, statusText, headers } = response;
    return new Response(bounded, { status, statusText, headers });
  };
}
