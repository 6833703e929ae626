/** The operator's API as an OpenAPI 3.1 document, derived from the table of operations. */
import { z } from "zod";
import { isJsonObject, type JsonObject } from "../../../core/lib/json/json.ts";
import type { ErrorCode } from "../../../core/lib/errors/errors.ts";
import {
  errorAnswerComponents,
  errorAnswers,
  errorBodySchemas,
} from "../../openapi/error_answers.ts";
import { headerComponents } from "../../openapi/headers.ts";
import type { Operation } from "./contract/operation.ts";
import { operations } from "./operations.ts";
import { operationNames, operationPaths } from "./contract/paths.ts";

/** Errors of every operation. */
const commonErrors = [
  "invalid_api_key",
  "not_found",
  "invalid_request",
  "overloaded",
  "internal_error",
  "service_unavailable",
] as const satisfies readonly ErrorCode[];

/** Errors of operations with a body. */
const bodyErrors = [
  "invalid_json",
  "request_timeout",
  "request_too_large",
] as const satisfies readonly ErrorCode[];

/** A schema as JSON Schema; what JSON cannot express is left open. */
function schemaOf(schema: z.ZodType, io: "input" | "output"): JsonObject {
  const { $schema: _, ...written }: Record<string, unknown> = z.toJSONSchema(schema, {
    io,
    unrepresentable: "any",
    override: ({ jsonSchema }) => {
      // The bounds of whole numbers in JavaScript, and what the format of a time says already.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
    },
  });
  const json: unknown = JSON.parse(JSON.stringify(written));
  return isJsonObject(json) ? json : {};
}

/** Writes a path of Hono as OpenAPI does. */
function writtenPath(path: string): string {
  return `/operator${path.replaceAll(/:(\w+)(?:\{[^}]*\})?/g, "{$1}")}`;
}

function parameterOf(name: string, place: "path" | "query", schema: JsonObject): JsonObject {
  return { name, in: place, required: place === "path", schema };
}

/** Splits the input of an operation into parameters and a body. */
function inputOf({ name, schemas, replacesVersion }: Operation): JsonObject {
  const { method, path } = operationPaths[name];
  const input = schemaOf(schemas.input, "input");
  const properties = isJsonObject(input["properties"]) ? input["properties"] : {};
  const schemaOfField = (field: string): JsonObject => {
    const schema = properties[field];
    return isJsonObject(schema) ? schema : { type: "string" };
  };
  const inPath = Array.from(path.matchAll(/:(\w+)/g), ([, field = ""]) => field);
  const others = Object.keys(properties).filter((field) => !inPath.includes(field));
  const parameters = inPath.map((field) => parameterOf(field, "path", schemaOfField(field)));
  if (replacesVersion === true) {
    parameters.push({
      name: "if-match",
      in: "header",
      required: true,
      description: "The `etag` of `GET /operator/catalog`.",
      schema: { type: "string" },
    });
  }
  if (method === "GET") {
    const required = Array.isArray(input["required"]) ? input["required"] : [];
    const query = others.map((field) => ({
      ...parameterOf(field, "query", schemaOfField(field)),
      required: required.includes(field),
    }));
    return { parameters: [...parameters, ...query] };
  }
  const { properties: _properties, required, propertyNames: _names, ...rest } = input;
  const needed = Array.isArray(required)
    ? required.filter((field) => typeof field === "string" && others.includes(field))
    : [];
  const schema: JsonObject = others.length === 0 && inPath.length === 0 ? input : {
    ...rest,
    properties: Object.fromEntries(others.map((field) => [field, schemaOfField(field)])),
    ...(needed.length > 0 && { required: needed }),
  };
  if (others.length === 0 && inPath.length > 0) return { parameters };
  const requestBody = { required: needed.length > 0, content: { "application/json": { schema } } };
  return { parameters, requestBody };
}

function jsonAnswer(description: string, schema: z.ZodType): JsonObject {
  return {
    description,
    content: { "application/json": { schema: schemaOf(schema, "output") } },
  };
}

function operationObject(operation: Operation): JsonObject {
  const { name, summary, effect, schemas, refusals = {} } = operation;
  const [tag = name] = name.split(".");
  const own = Object.entries(refusals).map(([status, { description, body }]) =>
    [status, jsonAnswer(description, body)] as const
  );
  const hasBody = operationPaths[name].method !== "GET";
  return {
    operationId: name,
    tags: [tag],
    summary,
    description: effect === "acts"
      ? "Changes something; the audit log has a line of it."
      : "Reads.",
    ...inputOf(operation),
    responses: {
      "200": jsonAnswer("Done.", schemas.output),
      ...Object.fromEntries(own),
      ...errorAnswers(hasBody ? [...commonErrors, ...bodyErrors] : commonErrors, "chat"),
    },
  };
}

/**
 * Makes the document.
 *
 * @param server address of the service, without a trailing slash; `/` if it is not known
 */
export function operatorDocument(server: string): JsonObject {
  const paths: Record<string, JsonObject> = {};
  for (const name of operationNames) {
    // No key stands in for a person.
    if (operations[name].authority === "person") continue;
    const { method, path } = operationPaths[name];
    (paths[writtenPath(path)] ??= {})[method.toLowerCase()] = operationObject(operations[name]);
  }
  const text = JSON.stringify(paths);
  const responses = Object.entries(errorAnswerComponents())
    .filter(([name]) => text.includes(`"#/components/responses/${name}"`));
  return {
    openapi: "3.1.0",
    info: {
      title: "Model Gateway: operations",
      version: "1",
      summary: "What operators read and change, for programs with the operator's key.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: server }],
    security: [{ operatorKey: [] }],
    paths,
    components: {
      securitySchemes: {
        operatorKey: { type: "http", scheme: "bearer", description: "`GATEWAY_OPERATOR_KEY`" },
      },
      headers: headerComponents,
      responses: Object.fromEntries(responses),
      schemas: errorBodySchemas,
    },
  };
}
