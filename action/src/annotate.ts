import { caseLine } from "./locate-case.ts";
import type { Outcome } from "./outcome.ts";
import { plain } from "./plain-text.ts";

/** An error at a line of a file; `file` is relative to the working directory. */
export interface Annotation {
  message: string;
  title: string;
  file?: string;
  line?: number;
  column?: number;
}

const longest = 2_000;

/** What is to be shown at the lines of the agent's files: failed cases, and problems of the files themselves. */
export function annotate(outcome: Outcome): Annotation[] {
  const { agent } = outcome;
  switch (outcome.kind) {
    case "ended":
      return annotateSuite(outcome);
    case "refused": {
      const { path: file, message, problems } = outcome;
      const title = plain(`${agent} could not be evaluated`);
      if (problems.length === 0) return [{ title, message: plain(message, longest), file, line: 1 }];
      return problems.map(({ message: text, line, column }) => ({
        ...{ title, message: plain(text, longest), file, line, column },
      }));
    }
    case "timed_out": {
      const what = outcome.evalId ? `Suite ${outcome.evalId} goes on` : "The suite was not queued";
      const message = plain(`${what}, but the time is over; raise the input timeout.`);
      return [{ title: plain(`${agent} took too long`), message }];
    }
    case "queued":
    case "skipped":
      return [];
  }
}

function annotateSuite({ agent, suite, evalPath, evalText }: Extract<Outcome, { kind: "ended" }>) {
  if (suite.status === "error") {
    const message = plain(suite.error ?? "The suite could not be run.", longest);
    return [{ title: plain(`${agent} could not be evaluated`), message, file: evalPath, line: 1 }];
  }
  return suite.cases
    .filter(({ status }) => status === "failed")
    .map(({ name, assertions }) => {
      const wrong = assertions.filter(({ passed }) => !passed);
      const details = wrong.map(({ kind, detail }) => `${kind}: ${detail}`).join(" ");
      return {
        title: plain(`${agent}: ${name}`),
        message: plain(details || "The case failed.", longest),
        file: evalPath,
        line: caseLine(evalText, name),
      };
    });
}
