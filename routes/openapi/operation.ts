/** An operation of the customer API, as the groups of this folder declare it. */
import type { ErrorCode, ErrorStyle } from "../../core/lib/errors/errors.ts";
import { defined } from "../../core/lib/base/defined.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import { ref, text } from "../../core/lib/json/schemas.ts";
import { type RowBounds, rowLimitSchema } from "../http/query.ts";

/** The groups of the reference, in the order in which it shows them. */
export const tags = {
  Chat: "Any chat model through any of these styles; fields that a model cannot carry are named.",
  Models: "Names, prices and state of the models.",
  Text: "Embeddings, ranks, moderation and completions.",
  Media: "Images, speech and transcripts.",
  Videos: "Videos are tasks: create one, poll it, download the file.",
  Organisation:
    "What the pages of an organisation do, for programs. These paths take a management key, which makes no calls.",
  Applications:
    "Keys for applications, after the consent of their user: OAuth 2.1 with PKCE. These paths take no key.",
  Account:
    "Usage, receipts and the balance of the account that owns the key. A management key of an organisation reads them, too, " +
    "as far as its role allows.",
} as const;

/** The name of a group. */
export type Tag = keyof typeof tags;

/** The style of error answers; `asked`: the one that the headers of the request ask for. */
export type AnswerStyle = ErrorStyle | "asked";

/** A parameter in the path, in the query or in a header. */
export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly description: string;
  readonly schema: JsonObject;
  /** Whether a query has to have it; absent: it may be left out. Those of the path always have to be there. */
  readonly required?: true;
  readonly example?: string;
}

/** Facts of a parameter beside its name and description; without a schema it is a text. */
type ParameterFacts = Partial<Pick<Parameter, "schema" | "required" | "example">>;

/** A parameter of the query. */
export function inQuery(name: string, description: string, facts: ParameterFacts = {}): Parameter {
  return { name, in: "query", description, schema: text, ...facts };
}

/** A parameter of a header. */
export function inHeader(name: string, description: string, facts: ParameterFacts = {}): Parameter {
  return { ...inQuery(name, description, facts), in: "header" };
}

/** A part of the path, which is never empty. */
export function inPath(name: string, description: string, facts: ParameterFacts = {}): Parameter {
  const schema = { type: "string", minLength: 1 };
  return { ...inQuery(name, description, { schema, ...facts }), in: "path" };
}

/** A choice of values, which are texts. */
export function oneOf(values: readonly string[], usual?: string): JsonObject {
  return { type: "string", enum: [...values], ...defined({ default: usual }) };
}

/** The parameters that choose a page of a list: how many rows, and after which. */
export function pageParameters(rows: RowBounds, cursor = "before"): readonly Parameter[] {
  return [
    inQuery("limit", "Rows of a page.", { schema: rowLimitSchema(rows) }),
    inQuery(cursor, "`last_id` of the page before."),
  ];
}

/** The body of a request. */
export interface RequestBody {
  readonly schema: JsonObject;
  /** Media types; absent: JSON. */
  readonly types?: readonly (
    | "application/json"
    | "multipart/form-data"
    | "application/x-www-form-urlencoded"
  )[];
  readonly example: JsonObject;
}

/** The answer of a call that succeeds: a schema for each media type. */
export interface OperationAnswer {
  readonly description: string;
  readonly content: Readonly<Record<string, JsonObject>>;
  /** Absent: 200. */
  readonly status?: number;
  /** Names of headers in `components.headers`, beside those of every answer. */
  readonly headers?: readonly string[];
}

/** An answer in JSON, by the name of its schema. */
export function jsonAnswer(
  description: string,
  schema: string,
  headers?: OperationAnswer["headers"],
): OperationAnswer {
  return { description, content: { "application/json": ref(schema) }, ...defined({ headers }) };
}

/** One operation. */
export interface Operation {
  readonly id: string;
  readonly tag: Tag;
  readonly method: "get" | "post" | "patch" | "delete";
  /** As OpenAPI writes it: `/v1/models/{id}`. */
  readonly path: string;
  readonly summary: string;
  /** CommonMark. */
  readonly description: string;
  readonly parameters?: readonly Parameter[];
  readonly body?: RequestBody;
  readonly answers: readonly OperationAnswer[];
  readonly errorStyle: AnswerStyle;
  readonly errors: readonly ErrorCode[];
  /** No key is needed. */
  readonly isPublic?: true;
  /** Takes a management key: that alone, or an API key as well. Absent: an API key. */
  readonly managementKey?: "only" | "too";
}
