import { z } from "zod";
import type { Endpoint } from "./endpoint.ts";

type Json = Record<string, unknown>;

const errorResponse = (description: string): Json => ({
  description,
  content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
});

/** The OpenAPI 3.1 document of the endpoints. `serverUrl` is the public base address. */
export function openApiDocument(endpoints: readonly Endpoint[], version: string, serverUrl: string): Json {
  const schemas: Json = {
    Error: {
      type: "object",
      required: ["error"],
      properties: { error: { type: "string" }, details: {} },
      additionalProperties: false,
    },
  };
  const paths: Record<string, Json> = {};
  for (const endpoint of endpoints) {
    const path = `/api/v1${endpoint.path}`;
    paths[path] ??= {};
    paths[path][endpoint.method.toLowerCase()] = operation(endpoint, schemas);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Rollcall",
      version,
      summary: "Agents kept as spec files in Git: catalog, runs and management.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: serverUrl }],
    security: [{ apiKey: [] }],
    tags: [...new Set(endpoints.map((endpoint) => endpoint.tag))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: { apiKey: { type: "http", scheme: "bearer", description: "A personal API key." } },
      schemas,
    },
  };
}

function operation(endpoint: Endpoint, schemas: Json): Json {
  const creates = endpoint.method === "POST";
  const parameters = [
    ...parametersOf(endpoint.params, "path", schemas),
    ...parametersOf(endpoint.query, "query", schemas),
    ...(creates
      ? [{ name: "Idempotency-Key", in: "header", schema: { type: "string", maxLength: 255 } }]
      : []),
  ];
  return {
    operationId: endpoint.id,
    tags: [endpoint.tag],
    summary: endpoint.summary,
    description: `Needs the role \`${endpoint.role}\`.`,
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(endpoint.body
      ? {
          requestBody: {
            required: true,
            content: { "application/json": { schema: jsonSchema(endpoint.body, "input", schemas) } },
          },
        }
      : {}),
    responses: responsesOf(endpoint, schemas),
  };
}

function responsesOf(endpoint: Endpoint, schemas: Json): Json {
  const errors: Json = {
    "400": errorResponse("Something in the request does not fit."),
    "401": errorResponse("The API key is missing, unknown, disabled or revoked."),
    "403": errorResponse("The key's member lacks the role."),
    "429": errorResponse("Too many requests; Retry-After tells when to go on."),
    "503": errorResponse("The database is away; Retry-After tells when to try again."),
  };
  if (endpoint.path.includes("{")) errors["404"] = errorResponse("No record has that identifier.");
  if (endpoint.method !== "GET") errors["409"] = errorResponse("In conflict with what is there.");
  if (endpoint.body) errors["422"] = errorResponse("Understood, but impossible now.");
  if (endpoint.kind === "stream") {
    return {
      "200": {
        description: "Server-sent events.",
        content: { "text/event-stream": { schema: { type: "string" } } },
      },
      ...errors,
    };
  }
  const success: Json = { description: endpoint.summary };
  if (endpoint.status !== 204) {
    success.content = { "application/json": { schema: jsonSchema(endpoint.response, "output", schemas) } };
  }
  return { [String(endpoint.status)]: success, ...errors };
}

function parametersOf(shape: z.ZodType | undefined, where: "path" | "query", schemas: Json): Json[] {
  if (!shape) return [];
  const { properties = {}, required = [] } = jsonSchema(shape, "input", schemas) as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: where,
    required: where === "path" || required.includes(name),
    ...(description ? { description } : {}),
    schema,
  }));
}

/** JSON Schema of a shape; shapes with an id of their own are moved to `components`. */
function jsonSchema(shape: z.ZodType, io: "input" | "output", schemas: Json): Json {
  const { $schema: _, $defs = {}, ...schema } = z.toJSONSchema(shape, { io, unrepresentable: "any" }) as Json;
  for (const [name, definition] of Object.entries($defs as Json))
    schemas[name] = withComponentRefs(definition);
  return withComponentRefs(schema) as Json;
}

function withComponentRefs(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withComponentRefs);
  if (typeof node !== "object" || node === null) return node;
  return Object.fromEntries(
    Object.entries(node)
      .filter(([key]) => key !== "id" || typeof (node as Json).id !== "string")
      .map(([key, value]) =>
        key === "$ref" && typeof value === "string"
          ? [key, value.replace("#/$defs/", "#/components/schemas/")]
          : [key, withComponentRefs(value)],
      ),
  );
}
