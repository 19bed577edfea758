import { APICallError, InvalidResponseDataError, JSONParseError, LoadAPIKeyError } from "ai";
import { describe, expect, it } from "vitest";
import { RunFailure } from "../../../src/frameworks/index.ts";
import { explainError } from "../../../src/frameworks/model-call/errors.ts";
import { streamError } from "../../../src/frameworks/model-call/stream-errors.ts";
import type { ModelConnection } from "../../../src/models/index.ts";

const connection: ModelConnection = {
  ref: "openai/gpt-5-mini",
  provider: "openai",
  modelId: "gpt-5-mini",
  protocol: "openai",
  apiKey: "a-key-of-no-known-shape",
};

interface Answer {
  status?: number;
  body?: string;
  headers?: Record<string, string>;
  url?: string;
  isRetryable?: boolean;
  cause?: Error;
}

function explain({ status, body, headers, url, isRetryable, cause }: Answer) {
  const error = new APICallError({
    message: "It failed",
    url: url ?? "https://api.example/v1/responses",
    requestBodyValues: {},
    ...(status === undefined ? {} : { statusCode: status }),
    ...(body === undefined ? {} : { responseBody: body }),
    ...(headers === undefined ? {} : { responseHeaders: headers }),
    ...(isRetryable === undefined ? {} : { isRetryable }),
    cause,
  });
  return explainError(error, connection);
}

const googleQuota = (details: string) =>
  `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","details":[${details}]}}`;

describe("explainError", () => {
  it.each<[string, Answer, string, boolean]>([
    ["a wrong key", { status: 401 }, "model_auth", false],
    ["a forbidden model", { status: 403 }, "model_auth", false],
    ["Google's wrong key", { status: 400, body: '{"reason":"API_KEY_INVALID"}' }, "model_auth", false],
    ["a rate limit", { status: 429 }, "model_rate_limited", true],
    ["a used-up quota", { status: 429, body: '{"code":"insufficient_quota"}' }, "model_rate_limited", false],
    ["Google's used-up quota", { status: 429, body: googleQuota("") }, "model_rate_limited", false],
    [
      "Google's rate limit",
      { status: 429, body: googleQuota('{"retryDelay": "34s"}') },
      "model_rate_limited",
      true,
    ],
    [
      "no credit at Anthropic",
      { status: 400, body: "Your credit balance is too low" },
      "model_rate_limited",
      false,
    ],
    ["no credit at a gateway", { status: 402 }, "model_rate_limited", false],
    ["an unknown model", { status: 404 }, "model_unavailable", false],
    [
      "a request it cannot do",
      { status: 400, body: "temperature is not supported" },
      "model_unavailable",
      false,
    ],
    [
      "a forbidden prompt",
      { status: 400, body: '{"code":"content_policy_violation"}' },
      "model_refused",
      false,
    ],
    ["an overloaded provider", { status: 529 }, "model_unavailable", true],
    ["a broken connection", { isRetryable: true }, "model_unavailable", true],
    ["an answer cut in the middle", { status: 200, isRetryable: true }, "model_unavailable", true],
    ["an answer that is no JSON", { status: 200, body: "<html>" }, "model_unavailable", false],
    [
      "five minutes of silence",
      {
        isRetryable: true,
        cause: Object.assign(new Error("Headers Timeout"), { code: "UND_ERR_HEADERS_TIMEOUT" }),
      },
      "model_unavailable",
      false,
    ],
    [
      "five minutes of silence in the middle of an answer",
      {
        status: 200,
        isRetryable: true,
        cause: new TypeError("terminated", {
          cause: Object.assign(new Error("Body Timeout"), { code: "UND_ERR_BODY_TIMEOUT" }),
        }),
      },
      "model_unavailable",
      false,
    ],
  ])("understands %s", (_what, answer, code, retryable) => {
    const explained = explain(answer);
    expect({ code: explained.failure.code, retryable: explained.retryable }).toEqual({ code, retryable });
  });

  it("reads how long to wait as seconds, as a date and from Google's body", () => {
    expect(explain({ status: 429, headers: { "retry-after": "1.5" } }).retryAfterMs).toBe(1_500);
    expect(explain({ status: 503, headers: { "retry-after": "nonsense" } }).retryAfterMs).toBeUndefined();
    expect(
      explain({ status: 503, headers: { "retry-after": "Wed, 21 Oct 2015 07:28:00 GMT" } }).retryAfterMs,
    ).toBe(0);
    const inAMinute = new Date(Date.now() + 60_000).toUTCString();
    const wait = explain({ status: 503, headers: { "retry-after": inAMinute } }).retryAfterMs ?? 0;
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(60_000);
    expect(explain({ status: 429, body: googleQuota('{"retryDelay": "34s"}') }).retryAfterMs).toBe(34_000);
  });

  it("tells an admin what happened and keeps the key out", () => {
    const { details } = explain({
      status: 500,
      url: "https://api.example/v1/responses?key=a-key-of-no-known-shape",
      body: `${"x".repeat(1_900)} a-key-of-no-known-shape sk-another-key-0123456789 ${"y".repeat(5_000)}`,
    }).failure;
    expect(details).toMatch(
      /^openai\/gpt-5-mini: status 500 from https:\/\/api\.example\/v1\/responses\nIt failed\n/,
    );
    expect(details).not.toContain("key-of-no-known");
    expect(details).not.toContain("sk-another");
    expect(details).toHaveLength(2_048);
  });

  it("says why there was no answer", () => {
    const cause = new Error("connect ECONNREFUSED 127.0.0.1:9");
    expect(explain({ isRetryable: true, cause }).failure.details).toContain(
      "no answer from https://api.example",
    );
    expect(explain({ isRetryable: true, cause }).failure.details).toContain("ECONNREFUSED");
  });

  it("leaves a RunFailure as it is", () => {
    const failure = new RunFailure("budget_exceeded", "too dear");
    expect(explainError(failure, connection)).toEqual({ failure, retryable: false });
  });

  it.each([
    [new LoadAPIKeyError({ message: "no key" }), "model_not_configured"],
    [new InvalidResponseDataError({ data: {}, message: "no choices" }), "model_unavailable"],
    [new TypeError("a bug"), "internal"],
    ["thrown text", "internal"],
  ])("sorts %s", (error, code) => {
    expect(explainError(error, connection)).toMatchObject({ failure: { code }, retryable: false });
  });
});

describe("streamError", () => {
  const explainPart = (part: unknown) =>
    explainError(streamError(part, "https://api.example/v1"), connection);

  it.each<[string, unknown, string, boolean]>([
    ["OpenAI's outage", { type: "error", code: "server_error", message: "Oh." }, "model_unavailable", true],
    ["OpenAI's rate limit", { code: "rate_limit_exceeded", message: "Oh." }, "model_rate_limited", true],
    ["a used-up quota", { code: "insufficient_quota", message: "Oh." }, "model_rate_limited", false],
    [
      "a wrong key, whatever the client makes of it",
      { code: "invalid_api_key", statusCode: 400 },
      "model_auth",
      false,
    ],
    ["Anthropic overloaded", { type: "overloaded_error", statusCode: 529 }, "model_unavailable", true],
    ["Anthropic's outage", { type: "api_error", statusCode: 500 }, "model_unavailable", true],
    ["Anthropic's rate limit", { type: "rate_limit_error" }, "model_rate_limited", true],
    ["Anthropic's bill", { type: "billing_error", statusCode: 400 }, "model_rate_limited", false],
    ["Google's rate limit", { type: "RESOURCE_EXHAUSTED", code: 429 }, "model_rate_limited", true],
    ["Google overloaded", { type: "UNAVAILABLE", code: 503 }, "model_unavailable", true],
    [
      "Google's wrong key",
      { type: "INVALID_ARGUMENT", code: 400, data: { details: [{ reason: "API_KEY_INVALID" }] } },
      "model_auth",
      false,
    ],
    ["a gateway's status", { code: 429, message: "Slow down." }, "model_rate_limited", true],
    ["a gateway's status in text", { code: "402", message: "Pay." }, "model_rate_limited", false],
    ["a request that is too long", { code: "context_length_exceeded" }, "model_unavailable", false],
    ["words alone", "The backend is gone.", "model_unavailable", true],
    ["nothing at all", null, "model_unavailable", true],
    ["no JSON", new JSONParseError({ text: "{", cause: new Error("end") }), "model_unavailable", false],
    [
      "a stream without an end",
      new InvalidResponseDataError({ data: undefined, message: "no finish reason" }),
      "model_unavailable",
      true,
    ],
    [
      "a stream that makes no sense",
      new InvalidResponseDataError({ data: { type: "message_start" }, message: "twice" }),
      "model_unavailable",
      false,
    ],
  ])("sorts %s as its status would be", (_what, part, code, retryable) => {
    const explained = explainPart(part);
    expect({ code: explained.failure.code, retryable: explained.retryable }).toEqual({ code, retryable });
  });

  it("keeps the provider's words and takes the key out", () => {
    const data = { error: { message: `Overloaded: ${connection.apiKey}`, request_id: "req_7" } };
    const { details } = explainPart({ type: "overloaded_error", message: "Overloaded", data }).failure;
    expect(details).toContain("https://api.example/v1");
    expect(details).toContain("req_7");
    expect(details).not.toContain(connection.apiKey);
  });
});
