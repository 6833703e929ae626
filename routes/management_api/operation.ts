/** What an operation of the management API is. */
import type { z } from "zod";
import type { JsonObject } from "../../core/lib/json/json.ts";
import type { ErrorCode } from "../../core/lib/errors/errors.ts";
import { always, constant, type DescribedField, text } from "../../core/lib/json/schemas.ts";
import type { MasterKeys } from "../../core/people/api_keys/seal.ts";
import type { Act } from "../../core/people/organisations/acts.ts";
import type { Deadlines } from "../../core/lib/time/deadlines.ts";
import type { Clock } from "../../core/lib/time/clock.ts";
import type { Catalog } from "../../core/catalog/catalog.ts";
import type { Control } from "../../kv/engine/control/control.ts";
import type { WalletEngine } from "../../kv/money/wallet/mod.ts";
import type { WebhookDeps } from "../hooks/webhook_operations.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";
import type { SpendGranted } from "../../core/trade/credits/pots.ts";
import type { TopupSettings } from "../../core/trade/settings/settings.ts";
import type { DescribedMember } from "../../core/lib/json/schemas.ts";
import type { ManagementCaller } from "../http/management_key.ts";

/** What the management API needs of the gateway. */
export interface ManagementDeps {
  readonly kv: KeyValueStore;
  readonly clock: Clock;
  /** Bound how long a body may take. */
  readonly deadlines: Deadlines;
  readonly masterKeys: MasterKeys;
  readonly control: Pick<Control, "refresh">;
  readonly wallet: Pick<WalletEngine, "balance">;
  readonly catalog: Pick<Catalog, "find">;
  readonly keysPerMember: number;
  /** How customers pay in, and the rates of invoices. */
  readonly topup: TopupSettings;
  /** When calls spend credit that was given. */
  readonly spendGranted: SpendGranted;
  /** Public address of the service, without a trailing slash. */
  readonly baseUrl: string;
  /** Reads the texts of the TXT records of a name; rejects if the resolver does not say what there is. */
  readonly resolveTxt: (name: string) => Promise<readonly string[]>;
  /** What webhooks may reach, and the hint that one waits. */
  readonly webhooks: Pick<WebhookDeps, "isLocalAllowed" | "hintDelivery">;
  /** Wakes what sends mails. */
  readonly hintMail: () => void;
}

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

/** The name of a schema in the OpenAPI document, with the fields that an answer is made of. */
export interface AnswerShape {
  readonly name: string;
  readonly description: string;
  readonly fields: readonly DescribedField<never>[];
}

/** What every operation says of itself. */
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
  /** What a row of a list is. */
  readonly row?: AnswerShape;
  readonly body?: { readonly schema: z.ZodType; readonly example: JsonObject };
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

/** The fields of what does not exist any more. */
export const goneFields: readonly DescribedField<{ readonly id: string }>[] = [
  always("id", text, ({ id }) => id),
  constant("deleted", true),
];

/** The answer of an operation that ends something. */
export const goneShape: AnswerShape = {
  name: "Gone",
  description: "What does not exist any more.",
  fields: goneFields,
};

/** Declares an operation with a body: what it runs on has passed its schema. */
export function withBody<Body>(
  operation: Omit<JsonOperation, "run" | "body"> & {
    readonly body: { readonly schema: z.ZodType<Body>; readonly example: JsonObject };
    readonly run: (call: ManagementCall<Body>) => Promise<JsonObject>;
  },
): JsonOperation {
  const { run, body } = operation;
  return { ...operation, run: (call) => run({ ...call, body: body.schema.parse(call.body) }) };
}
