/** The management API in the document: made of the table of its operations. */
import type { ErrorCode } from "../../core/lib/errors/errors.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import { objectSchema, ref } from "../../core/lib/json/schemas.ts";
import { requestHeaders } from "../http/own_headers.ts";
import { managementRows } from "../management_api/lists.ts";
import type { ManagementOperation } from "../management_api/operation.ts";
import { managementOperations } from "../management_api/operations.ts";
import { keyErrors } from "./error_answers.ts";
import { inHeader, inPath, inQuery, type Operation, pageParameters } from "./operation.ts";

/** Errors of every operation of the management API. */
const managementErrors = [
  ...keyErrors,
  "rate_limit_reached",
] as const satisfies readonly ErrorCode[];

/** Errors of every operation with a body. */
const changeErrors = [
  "invalid_json",
  "request_too_large",
  "request_timeout",
  "order_under_way",
  "idempotency_key_reused",
] as const satisfies readonly ErrorCode[];

const idempotency = inHeader(
  requestHeaders.idempotencyKey,
  "Repeats with the same management key get the answer of the first request, for a day.",
  { schema: { type: "string", minLength: 1, maxLength: 255 } },
);

/** Answers of an operation: JSON or a file. */
function answersOf(operation: ManagementOperation): Operation["answers"] {
  if ("file" in operation) {
    const { description, types } = operation.file;
    const file: JsonObject = { type: "string", format: "binary" };
    return [{ description, content: Object.fromEntries(types.map((type) => [type, file])) }];
  }
  const { name, description } = operation.answer;
  return [{ description, content: { "application/json": ref(name) } }];
}

function operationOf(operation: ManagementOperation): Operation {
  const { id, method, path, summary, description, parameters = [], errors } = operation;
  const body = "body" in operation ? operation.body : undefined;
  const line = "operation" in operation ? operation.operation?.line : undefined;
  const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) =>
    inPath(name, "What the list names it by.")
  );
  const isChange = method !== "get";
  return {
    id,
    tag: "Organisation",
    method,
    path,
    summary,
    description: line === undefined
      ? description
      : `${description} The activity log records it as \`${line}\`.`,
    parameters: [
      ...named,
      ...parameters.map(({ name, schema, description }) => inQuery(name, description, { schema })),
      ...("isList" in operation ? pageParameters(managementRows, "after") : []),
      ...(isChange ? [idempotency] : []),
    ],
    ...(body !== undefined &&
      { body: { schema: body.describe(), example: body.example } }),
    answers: answersOf(operation),
    errorStyle: "chat",
    errors: [
      ...new Set([
        ...managementErrors,
        ...(isChange ? ["invalid_request" as const, ...changeErrors] : []),
        ...errors,
      ]),
    ],
    managementKey: "only",
  };
}

/** The operations of the management API. */
export const managementApiOperations: readonly Operation[] = managementOperations.map(operationOf);

/** The schemas of its answers and of the rows of its lists. */
export const managementSchemas: JsonObject = Object.fromEntries(
  managementOperations.flatMap((operation) => {
    if ("file" in operation) return [];
    const shapes = [operation.answer, ...(operation.row === undefined ? [] : [operation.row])];
    return shapes.map(({ name, description, fields }) => [name, objectSchema(description, fields)]);
  }),
);
