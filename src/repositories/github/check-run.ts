import type { Annotation, CommitState, NewCheckRun } from "../pull-request-host.ts";

/** GitHub's limits: annotations of a call, bytes of a summary (its documentation says characters) and of a title. */
const mostAnnotations = 50;
const mostBytes = 65_535;
const mostTitleBytes = 255;

/**
 * What has to be sent of a check run, call by call, in the words of GitHub's API: annotations go in batches, and the
 * conclusion comes with the last one, so that a check that is over is whole.
 */
export function checkRunParts({ sha, name, state, detailsUrl, report }: NewCheckRun) {
  const title = cutBytes(report.title, mostTitleBytes);
  const summary = cutBytes(report.summary, mostBytes);
  const part = (annotations: ReturnType<typeof toAnnotation>[], isLast: boolean) => ({
    name,
    head_sha: sha,
    ...(detailsUrl === undefined ? {} : { details_url: detailsUrl }),
    ...progressOf(isLast ? state : "pending"),
    output: { title, summary, annotations },
  });
  const [first = [], ...rest] = batchesOf(report.annotations.map(toAnnotation), mostAnnotations);
  return {
    first: part(first, rest.length === 0),
    rest: rest.map((batch, index) => part(batch, index === rest.length - 1)),
  };
}

/** The beginning of a text, as many whole characters as fit into that many bytes of UTF-8, with a mark if it was cut. */
export function cutBytes(text: string, most: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= most) return text;
  let end = most - Buffer.byteLength("…");
  while (isContinuation(bytes[end])) end -= 1;
  return `${bytes.toString("utf8", 0, end)}…`;
}

const isContinuation = (byte = 0) => (byte & 0xc0) === 0x80;

function progressOf(state: CommitState) {
  switch (state) {
    case "pending":
      return { status: "in_progress" } as const;
    case "success":
      return { status: "completed", conclusion: "success" } as const;
    case "failure":
    case "error":
      return { status: "completed", conclusion: "failure" } as const;
  }
}

function toAnnotation({ path, line, message, title }: Annotation) {
  return {
    path,
    start_line: line,
    end_line: line,
    annotation_level: "failure" as const,
    message: cutBytes(message, mostBytes),
    title: cutBytes(title, mostTitleBytes),
  };
}

function batchesOf<T>(items: readonly T[], size: number): T[][] {
  const batches: T[][] = [];
  for (let at = 0; at < items.length; at += size) batches.push(items.slice(at, at + size));
  return batches;
}
