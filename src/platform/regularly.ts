/** Does work once a period (in milliseconds) until the function it returns is called. Nothing waits for the work. */
export function regularly(
  periodMs: number,
  work: () => Promise<unknown>,
  failed: (error: unknown) => void,
): () => void {
  const timer = setInterval(() => void work().catch(failed), periodMs);
  return () => clearInterval(timer);
}
