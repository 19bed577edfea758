import autocannon, { type Instance } from "autocannon";
import { adminKey } from "./server.ts";
import { percentile } from "./table.ts";

export interface Load {
  perSecond: number;
  /** Milliseconds. */
  p50: number;
  p99: number;
  /** Answers other than 2xx. */
  failed: number;
}

/** Posts the same body over 50 kept connections, as often as `amount` says. */
export async function postLoad(
  url: string,
  body: unknown,
  amount: number,
  headers: Readonly<Record<string, string>> = { authorization: `Bearer ${adminKey}` },
): Promise<Load> {
  const latencies: number[] = [];
  let failed = 0;
  const startedAt = performance.now();
  const running = autocannon({
    url,
    method: "POST",
    connections: 50,
    amount,
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(body),
  }) as unknown as Instance;
  // autocannon itself ends on whole seconds.
  await new Promise<void>((resolve, reject) => {
    running.on("response", (_client, status, _bytes, latency) => {
      if (status < 200 || status > 299) failed++;
      if (latencies.push(latency) === amount) resolve();
    });
    running.on("reqError", reject);
  });
  const perSecond = (amount / (performance.now() - startedAt)) * 1_000;
  return { perSecond, p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99), failed };
}

/** One POST as JSON with the admin's key. */
export async function post<T>(url: string, body: unknown): Promise<T> {
  const headers = { authorization: `Bearer ${adminKey}`, "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

/** One GET as JSON with the admin's key. */
export async function get<T>(url: string): Promise<T> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${adminKey}` } });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}
