/**
 * The thread that does checks which may never end: matching a regular expression, and fitting a JSON Schema,
 * whose patterns are regular expressions too. See check-pool.ts, which ends the thread when one takes too long.
 */
import { parentPort } from "node:worker_threads";

export type CheckTask =
  | { kind: "regex"; pattern: string; text: string }
  | { kind: "jsonSchema"; schema: Record<string, unknown>; text: string };

export type CheckAnswer = { begun: true } | { passed: true } | { passed: false; reason: string };

const answer = (message: CheckAnswer) => parentPort?.postMessage(message);

parentPort?.on("message", (task: CheckTask) => {
  void perform(task).then(answer, () =>
    answer({ passed: false, reason: "The check could not be done on this output." }),
  );
});

async function perform(task: CheckTask): Promise<CheckAnswer> {
  switch (task.kind) {
    case "regex":
      // The clock starts here, not when the thread was asked for.
      answer({ begun: true });
      if (new RegExp(task.pattern).test(task.text)) return { passed: true };
      return { passed: false, reason: "The output does not match the regular expression." };
    case "jsonSchema": {
      const { z } = await import("zod");
      answer({ begun: true });
      return fitSchema(z, task.schema, task.text);
    }
  }
}

function fitSchema(z: typeof import("zod").z, schema: Record<string, unknown>, text: string): CheckAnswer {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { passed: false, reason: "The output is no JSON." };
  }
  const checked = z.fromJSONSchema(schema).safeParse(value);
  if (checked.success) return { passed: true };
  const [issue] = checked.error.issues;
  const place = issue?.path.length ? ` at ${issue.path.map(String).join(".")}` : "";
  return { passed: false, reason: `The output does not fit the schema${place}: ${issue?.message ?? ""}` };
}
