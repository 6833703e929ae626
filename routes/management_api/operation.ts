/** Operations of the management API. */
import { z } from "zod";
import { defined } from "../../core/lib/base/defined.ts";
import { fieldsJson } from "../../core/lib/json/fields.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/lib/json/json.ts";
import { type ErrorCode, GatewayError } from "../../core/lib/errors/errors.ts";
import { accountName } from "../../kv/people/accounts/accounts.ts";
import {
  type Acting,
  type CommonRefusal,
  type DeclaredOperation,
  type Operation,
  perform,
  refusalError,
  type RefusalRow,
  type Refused,
} from "../acts/operation.ts";
import type { OwnKeyDeps } from "../acts/own_keys.ts";
import type { ActName } from "../acts/spending.ts";
import { always, constant, type DescribedField, text } from "../../core/lib/json/schemas.ts";
import type { MasterKeys } from "../../core/people/api_keys/seal.ts";
import type { Act } from "../../core/people/organisations/acts.ts";
import type { Deadlines } from "../../core/lib/time/deadlines.ts";
import type { Clock } from "../../core/lib/time/clock.ts";
import type { Catalog } from "../../core/catalog/catalog.ts";
import type { Control } from "../../kv/engine/control/control.ts";
import type { WalletEngine } from "../../kv/money/wallet/mod.ts";
import type { WebhookDeps } from "../acts/webhooks.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";
import type { SpendGranted } from "../../core/trade/credits/pots.ts";
import type { TopupSettings } from "../../core/trade/settings/settings.ts";
import type { DescribedMember } from "../../core/lib/json/schemas.ts";
import type { ManagementCaller } from "../http/management_key.ts";
import { unknownMember } from "../../core/lib/environment/schema_words.ts";
import { wrongParameter } from "../http/query.ts";

/** Needs of the management API. */
export interface ManagementDeps {
  readonly kv: KeyValueStore;
  readonly clock: Clock;
  /** Bound how long a body may take. */
  readonly deadlines: Deadlines;
  readonly masterKeys: MasterKeys;
  readonly control: Pick<Control, "refresh">;
  readonly wallet: Pick<WalletEngine, "balance">;
  readonly catalog: Pick<Catalog, "find" | "providers" | "ownKeyFee">;
  readonly checkOwnKey: OwnKeyDeps["checkOwnKey"];
  readonly keysPerMember: number;
  /** Settings of paying in, and the rates of invoices. */
  readonly topup: TopupSettings;
  /** Place of given credit in the order of spending. */
  readonly spendGranted: SpendGranted;
  /** Public address of the service, without a trailing slash. */
  readonly baseUrl: string;
  /** Reads the texts of the TXT records of a name; rejects if the resolver does not say what there is. */
  readonly resolveTxt: (name: string) => Promise<readonly string[]>;
  /** Addresses that webhooks may reach, and the hint that one waits. */
  readonly webhooks: WebhookDeps;
  /** Wakes what sends mails. */
  readonly hintMail: () => void;
}

/** Beginning of the paths of this API, and the path of the organisation itself. */
export const organisationPath = "/v1/organisation";

/** A request whose key may do what it asks for. */
export interface ManagementCall<Body> extends ManagementCaller {
  readonly deps: ManagementDeps;
  readonly nowMs: number;
  readonly query: URLSearchParams;
  readonly body: Body;
  /** A parameter of the path; empty if there is none of the name. */
  readonly param: (name: string) => string;
  /** The same for each try of a request with an idempotency key. */
  readonly formId?: string;
}

/** The name of a schema in the OpenAPI document, with the fields by which an answer is described and written. */
export interface AnswerShape<Row = never> {
  readonly name: string;
  readonly description: string;
  readonly fields: readonly DescribedField<Row>[];
}

/** Declares an answer. */
export function shape<Row>(
  name: string,
  description: string,
  fields: readonly DescribedField<Row>[],
): AnswerShape<Row> {
  return { name, description, fields };
}

/** Facts of every operation about itself. */
export interface NamedOperation {
  readonly id: string;
  readonly method: "get" | "post" | "patch" | "delete";
  /** As OpenAPI writes it: `/v1/organisation/keys/{id}`. */
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly act: Act;
  /** Parameters of the query, beside those of pages. */
  readonly parameters?: readonly (DescribedMember & { readonly description: string })[];
  readonly errors: readonly ErrorCode[];
}

/** An operation that answers with JSON, without the type of its body. */
export interface JsonOperation extends NamedOperation {
  readonly answer: AnswerShape;
  /** Its answer has this many rows at most, of which `limit` and `after` choose a page. */
  readonly isList?: true;
  /** Shape of a row of a list. */
  readonly row?: AnswerShape;
  /** The act of customers that it is; absent of a reading. */
  readonly operation?: DeclaredOperation;
  readonly body?: { readonly describe: () => JsonObject; readonly example: JsonObject };
  readonly run: (call: ManagementCall<unknown>) => Promise<JsonObject>;
}

/** An operation that answers with a file. */
export interface FileOperation extends NamedOperation {
  readonly method: "get";
  readonly file: { readonly description: string; readonly types: readonly string[] };
  readonly send: (call: ManagementCall<unknown>) => Promise<Response>;
}

/** An operation of the management API. */
export type ManagementOperation = JsonOperation | FileOperation;

/** The answer of an operation that ends something, whose id it is. */
export const goneShape = shape<string>("Gone", "What does not exist any more.", [
  always("id", text, (id) => id),
  constant("deleted", true),
]);

/**
 * Returns what the path names.
 *
 * @throws {GatewayError} `not_found` if there is none
 */
export function found<Row>(row: Row | undefined, what: string): Row {
  if (row === undefined) throw new GatewayError("not_found", `There is no such ${what}`);
  return row;
}

/** Declares an operation that reads one thing. What its path names may be missing, and its parameters may be wrong. */
export function reading<Row>(
  { answer, read, ...named }: Omit<NamedOperation, "method" | "errors"> & {
    readonly answer: AnswerShape<Row>;
    readonly read: (call: ManagementCall<unknown>) => Row | Promise<Row>;
  },
): JsonOperation {
  return {
    ...named,
    method: "get",
    answer,
    errors: [
      ...(named.path.includes("{") ? ["not_found" as const] : []),
      ...(named.parameters === undefined ? [] : ["invalid_request" as const]),
    ],
    run: async (call) => fieldsJson(answer.fields, await read(call)),
  };
}

/** Describes what a schema reads, for the OpenAPI document. */
function described(schema: z.ZodType): JsonObject {
  const { $schema: _, ...written }: Record<string, unknown> = z.toJSONSchema(schema, {
    io: "input",
    unrepresentable: "any",
  });
  const plain: unknown = JSON.parse(JSON.stringify(written));
  if (!isJsonObject(plain)) throw new TypeError("a body is an object");
  return plain;
}

// Acts of customers as operations of this API.

/** Name of a member of an act's input in this API. */
export function snakeName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function camelName(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/**
 * Renames the members of a body, also those within others, as acts call them.
 *
 * @throws {GatewayError} for a member that this API would write otherwise: each has one name
 */
function camelMembers(value: Json | undefined): Json {
  if (Array.isArray(value)) return value.map(camelMembers);
  if (!isJsonObject(value)) return value ?? null;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => {
      const member = camelName(name);
      if (snakeName(member) !== name) throw wrongParameter(name, unknownMember);
      return [member, camelMembers(one)];
    }),
  );
}

/** Renames the members that a schema names, also those of schemas within it. */
function describedAsSent(schema: JsonObject, without: readonly string[] = []): JsonObject {
  const { properties, required, ...rest } = schema;
  const members = Object.entries(isJsonObject(properties) ? properties : {})
    .filter(([name]) => !without.includes(name))
    .map(([name, one]) => [snakeName(name), innerAsSent(one)]);
  const needed = Array.isArray(required)
    ? required.map(String).filter((name) => !without.includes(name)).map(snakeName)
    : [];
  return {
    ...Object.fromEntries(Object.entries(rest).map(([name, one]) => [name, innerAsSent(one)])),
    ...(properties !== undefined && { properties: Object.fromEntries(members) }),
    ...(needed.length > 0 && { required: needed }),
  };
}

function innerAsSent(value: Json | undefined): Json {
  if (Array.isArray(value)) return value.map(innerAsSent);
  return isJsonObject(value) ? describedAsSent(value) : value ?? null;
}

/** Whoever calls, as acts take it. */
function actingOf(call: ManagementCall<unknown>): Acting {
  const { account, key, roles, by, nowMs, formId } = call;
  return {
    account,
    personId: key.memberId,
    roles,
    by,
    actorName: accountName(account),
    address: by.address,
    locale: account.locale ?? "vi",
    nowMs,
    ...defined({ formId }),
  };
}

/** The answer of an act: what it did, or a row that `rowOf` makes of that. */
type ActAnswer<Body, Row> =
  | { readonly answer: AnswerShape<NoInfer<Body>>; readonly rowOf?: undefined }
  | {
    readonly answer: AnswerShape<Row>;
    readonly rowOf: (body: NoInfer<Body>, call: ManagementCall<unknown>) => Row | Promise<Row>;
  };

/** Declares an act of customers as an operation: the members of its input come from the path and from the body. */
export function actOperation<
  Name extends ActName,
  Input extends z.ZodType,
  Body,
  Why extends string,
  Row,
>(
  declared:
    & Pick<NamedOperation, "method" | "path" | "summary" | "description">
    & ActAnswer<Body, Row>
    & {
      readonly operation: Operation<Name, Input, Body, Why, ManagementDeps>;
      /** A body, of operations that take one. */
      readonly example?: JsonObject;
    },
): JsonOperation {
  const { operation, example, ...named } = declared;
  const inPath = [...named.path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
  const { name: id, act, input, refusals } = operation;
  const rows: readonly RefusalRow[] = Object.values(refusals);
  return {
    ...named,
    id,
    act,
    operation,
    errors: ["invalid_request", "permission_denied", ...rows.map(({ code }) => code)],
    ...(example !== undefined &&
      { body: { describe: () => describedAsSent(described(input), inPath), example } }),
    async run(call) {
      const body = camelMembers(isJsonObject(call.body) ? call.body : {});
      const twice = inPath.find((name) => isJsonObject(body) && Object.hasOwn(body, name));
      if (twice !== undefined) throw wrongParameter(twice, unknownMember);
      const fromPath = Object.fromEntries(inPath.map((name) => [name, call.param(name)]));
      const sent = { ...(isJsonObject(body) ? body : {}), ...fromPath };
      const outcome = await perform(call.deps, actingOf(call), operation, sent);
      if (!outcome.ok) throw refusalOf(outcome, refusals, inPath);
      return declared.rowOf === undefined
        ? fieldsJson(declared.answer.fields, outcome.body)
        : fieldsJson(declared.answer.fields, await declared.rowOf(outcome.body, call));
    },
  };
}

/** Refusal of a part of the path, which names nothing. */
function refusalOf<Why extends string>(
  refusal: Refused<Why> | CommonRefusal,
  refusals: Readonly<Record<Why, RefusalRow>>,
  inPath: readonly string[],
): GatewayError {
  const isPathWrong = "common" in refusal && refusal.common === "input" &&
    refusal.issues.some(({ field }) => inPath.includes(field));
  if (isPathWrong) return new GatewayError("not_found", "There is nothing by this name");
  return refusalError(refusals, refusal, snakeName);
}
