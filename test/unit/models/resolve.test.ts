import { describe, expect, it } from "vitest";
import { configuredProviders, resolveModel } from "../../../src/models/index.ts";

describe("resolveModel", () => {
  it("gives a connection with key and address", () => {
    expect(resolveModel("openai/gpt-5-mini", { openai: { apiKey: " sk-1 " } })).toEqual({
      ok: true,
      model: {
        ref: "openai/gpt-5-mini",
        provider: "openai",
        modelId: "gpt-5-mini",
        protocol: "openai",
        baseUrl: "https://api.openai.com/v1",
        apiKey: "sk-1",
      },
    });
  });

  it("keeps slashes of the model's own name", () => {
    const keys = { "openai-compatible": { baseUrl: "http://vllm:8000/v1/" } };
    expect(resolveModel("openai-compatible/meta-llama/Llama-3.3-70B", keys)).toEqual({
      ok: true,
      model: {
        ref: "openai-compatible/meta-llama/Llama-3.3-70B",
        provider: "openai-compatible",
        modelId: "meta-llama/Llama-3.3-70B",
        protocol: "openai-compatible",
        baseUrl: "http://vllm:8000/v1",
      },
    });
  });

  it.each([
    "http://127.0.0.1:11434",
    "http://127.0.0.1:11434/",
    "http://127.0.0.1:11434/v1",
    "http://127.0.0.1:11434/v1/",
  ])("finds Ollama's chat completions from %s", (baseUrl) => {
    expect(resolveModel("ollama/llama3.2", { ollama: { baseUrl } })).toMatchObject({
      model: { protocol: "openai-compatible", baseUrl: "http://127.0.0.1:11434/v1" },
    });
  });

  it("prefers a base URL of the workspace's own", () => {
    const keys = { anthropic: { apiKey: "k", baseUrl: "https://gateway.example/anthropic" } };
    expect(resolveModel("anthropic/claude-sonnet-4-5", keys)).toMatchObject({
      model: { baseUrl: "https://gateway.example/anthropic" },
    });
  });

  it("has the echo built in", () => {
    expect(resolveModel("offline/echo", {})).toEqual({
      ok: true,
      model: { ref: "offline/echo", provider: "offline", modelId: "echo", protocol: "offline" },
    });
  });

  it.each([
    ["openai/gpt-5-mini", "OPENAI_API_KEY"],
    ["anthropic/claude-sonnet-4-5", "ANTHROPIC_API_KEY"],
    ["google/gemini-2.5-flash", "GOOGLE_GENERATIVE_AI_API_KEY"],
    ["openai-compatible/m", "OPENAI_COMPATIBLE_BASE_URL"],
    ["ollama/m", "OLLAMA_BASE_URL"],
    ["offline/gpt", "offline/echo"],
    ["mistral/large", "openai, anthropic"],
    ["constructor/x", "openai, anthropic"],
    ["gpt-5-mini", "provider/model"],
    ["openai/", "provider/model"],
    ["/x", "provider/model"],
    ["", "provider/model"],
  ])("says for %j what to set", (ref, hint) => {
    const blank = {
      openai: { apiKey: "  " },
      "openai-compatible": { apiKey: "k", baseUrl: "" },
      ollama: undefined,
    };
    const resolved = resolveModel(ref, blank);
    expect(resolved).toEqual({ ok: false, reason: expect.stringContaining(hint) });
  });

  it.each(["vllm:8000", "file:///etc/passwd", "not a url"])("refuses %j as an address", (baseUrl) => {
    expect(resolveModel("ollama/m", { ollama: { baseUrl } })).toMatchObject({ ok: false });
  });
});

describe("configuredProviders", () => {
  it("lists every provider with what it needs", () => {
    const list = configuredProviders({ google: { apiKey: "k" } });
    expect(list.filter(({ configured }) => configured).map(({ provider }) => provider)).toEqual([
      "google",
      "offline",
    ]);
    expect(list.map(({ provider }) => provider)).toEqual([
      "openai",
      "anthropic",
      "google",
      "openai-compatible",
      "ollama",
      "offline",
    ]);
    expect(list[0]?.hint).toContain("OPENAI_API_KEY");
  });
});
