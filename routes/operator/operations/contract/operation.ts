/**
 * Operations of operators: each has one input, one body and one set of errors, whichever surface calls it.
 *
 * - Folder `routes/operator/operations/contract/`: how operations are declared, their names and paths, and how the
 *   catalogue is changed.
 * - In: input as a program or a person wrote it, and who acts.
 * - Out: bodies of answers, and refusals.
 * - Never: knows a single operation, or reads an HTTP request.
 */
import { z } from "zod";
import { defined } from "../../../../core/lib/base/defined.ts";
import {
  memberPath,
  problemLines,
  readBySchema,
  type SchemaProblem,
} from "../../../../core/lib/environment/schema_words.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import type { TopupSettings } from "../../../../core/trade/settings/settings.ts";
import { mailQueue } from "../../../../kv/engine/outbox/outbox.ts";
import type { Clock } from "../../../../core/lib/time/clock.ts";
import type { RouteReport } from "../../../../core/routing/contract/router.ts";
import type { Control } from "../../../../kv/engine/control/control.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import type { BalanceOf } from "../../../../kv/money/payments/bank_assignment.ts";
import type { WalletEngine } from "../../../../kv/money/wallet/mod.ts";
import {
  type Actor,
  type Decider,
  operatorProgram,
} from "../../../../kv/people/audit/operator_audit.ts";
import type { LiveCatalog } from "../../../../kv/services/catalog/live_catalog.ts";
import {
  type RouteTestResult,
  type RouteTestTarget,
  testRoute,
} from "../../../api/chat/route_test_call.ts";
import type { Gateway } from "../../../api/gateway/gateway.ts";
import type { CallLog } from "../../../telemetry/call_log.ts";
import { type CatalogEditing, editingOf } from "./editing.ts";
import type { OperationName } from "./paths.ts";

/** Needs of operations. Commands also run without a gateway, on the store alone. */
export interface OperationDeps {
  readonly kv: KeyValueStore;
  readonly clock: Pick<Clock, "nowMs">;
  readonly control: Pick<Control, "switches" | "update">;
  readonly wallet: Pick<WalletEngine, "balance">;
  readonly editing: CatalogEditing;
  /** The routes that this process serves; absent where it serves none. */
  readonly routes?: () => readonly RouteReport[];
  /** The catalogue that this process serves; absent where it serves none. */
  readonly catalog?: Pick<LiveCatalog, "current" | "refused">;
  readonly log?: Pick<CallLog, "event">;
  /** Sends one call through a route; absent where none are served. */
  readonly testRoute?: (target: RouteTestTarget) => Promise<RouteTestResult>;
  /** The addresses of operators, lower-case. */
  readonly operatorEmails?: readonly string[];
  /** Bounds of what one operator may move or promise alone, and the accounts at banks that receive money. */
  readonly topup: Pick<TopupSettings, "approvalAboveMicroVnd" | "receivingAccounts">;
  /** E-mail addresses of operators, for mails about what waits for their approval; absent: nobody is told. */
  readonly operators?: readonly string[];
  /** Called after a mail was added to the queue; absent: the queue is read at its intervals. */
  readonly hintMail?: () => void;
}

/** Returns what operations need of a running gateway. */
export function operationDepsOf(gateway: Gateway): OperationDeps {
  const { kv, clock, control, wallet, catalog, log, router, config, media } = gateway;
  return {
    kv,
    clock,
    control,
    wallet,
    catalog,
    log,
    editing: editingOf(gateway),
    routes: () => router.reports(),
    testRoute: (target) => testRoute(gateway, target),
    operatorEmails: config.operators,
    topup: config.topup,
    operators: config.operators,
    hintMail: () => media.wakeUp.nudge(mailQueue.name),
  };
}

/** Returns a function that reads balances, including money that running calls reserve. */
export function balanceIn({ wallet }: Pick<OperationDeps, "wallet">): BalanceOf {
  return async (accountId) => (await wallet.balance(accountId)).totalMicroVnd;
}

/** Actor, time and state of an act. */
export interface OperationAct {
  readonly operator: Actor;
  readonly nowMs: number;
  /**
   * Returns the version of the catalogue that the author has seen; absent: whoever acts takes the newest as seen.
   *
   * @throws {GatewayError} if a program named none
   */
  readonly base?: () => number;
}

/**
 * Returns who decides about money.
 *
 * @throws {GatewayError} `permission_denied` for a program
 */
export function deciderOf({ operator }: Pick<OperationAct, "operator">): Decider {
  if ("accountId" in operator || operator.email !== operatorProgram.email) return operator;
  throw new GatewayError(
    "permission_denied",
    "Money is moved by persons: by an operator on the pages, or by deno task admin",
  );
}

/** An operation that was carried out. */
export interface Done<Out> {
  readonly ok: true;
  readonly body: Out;
  /** The version of the catalogue that the body belongs to. */
  readonly version?: number;
}

/** An operation that was not carried out, and why: pages have texts of their own for it, programs read the error. */
export interface Refused<Why extends string> {
  readonly ok: false;
  readonly why: Why;
  readonly error: GatewayError;
}

/** The statuses of refusals that have bodies of their own. */
export type RefusalStatus = 409 | 412 | 422;

/** Bodies of refusals, as the OpenAPI document describes them. */
export type RefusalBodies = {
  readonly [Status in RefusalStatus]?: { readonly description: string; readonly body: z.ZodType };
};

/** A refusal that has a body of its own in place of an error. */
export interface RefusedWithBody<Why extends string> {
  readonly ok: false;
  readonly why: Why;
  readonly status: RefusalStatus;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Input that the schema of an operation refuses. */
interface WrongInput extends Refused<"input"> {
  /** The first field that is wrong; empty where the input is no object. */
  readonly field: string;
}

/** The result of an operation. */
export type OperationResult<Out, Why extends string> =
  | Done<Out>
  | Refused<Why>
  | RefusedWithBody<Why>;

/** Why an operation was not carried out, with what pages are told of it. */
export type Refusal = Refused<string> | RefusedWithBody<string>;

/** Refuses an operation. */
export function refused<Why extends string>(
  why: Why,
  code: "invalid_request" | "not_found",
  message: string,
  param?: string,
): Refused<Why> {
  return { ok: false, why, error: new GatewayError(code, message, defined({ param })) };
}

/** Refuses an act in the words of a table of refusals. */
export function refusedAs<Why extends string>(
  why: Why,
  words: Readonly<Record<Why, string>>,
  outcome = "Nothing was changed",
): Refused<Why> {
  const code = why === "missing" ? "not_found" : "invalid_request";
  return refused(why, code, `${outcome}: ${words[why]}`);
}

/** Words of refusals that several acts share. */
export const commonRefusals = {
  limit: "it needs a second operator",
  busy: "it has just changed; try again",
  changed: "what it rests on has changed since it was looked at",
} as const;

/** Declaration of an operation. `Result` are its body and its refusals, as pages get them. */
export interface OperationForm<In, Raw, Out, Result extends Done<Out> | Refusal> {
  readonly name: OperationName;
  /** One line for lists and for the OpenAPI document. */
  readonly summary: string;
  /** `acts`: it changes something, and writes an audit line in the same commit. */
  readonly effect: "reads" | "acts";
  /** It moves money or agrees to that: no key of a program stands in for a person. */
  readonly authority?: "person";
  /** Query, path parameters and body in one. */
  readonly input: z.ZodType<In, Raw>;
  readonly output: z.ZodType<Out>;
  /** It replaces a version of the catalogue: a program names in `if-match` the one that it has seen. */
  readonly replacesVersion?: true;
  /** The refusals with bodies of their own; absent: none. */
  readonly refusals?: RefusalBodies;
  /** Bytes of a body; absent: those of a reason and a message. */
  readonly maxBodyBytes?: number;
  run(deps: OperationDeps, input: In, act: OperationAct): Promise<Result>;
}

/** An operation as programs and commands call it, whatever its types. */
export interface Operation {
  readonly name: OperationName;
  readonly summary: string;
  readonly effect: "reads" | "acts";
  readonly authority?: "person";
  readonly replacesVersion?: true;
  readonly refusals?: RefusalBodies;
  readonly maxBodyBytes?: number;
  /** The schemas of input and body. */
  readonly schemas: { readonly input: z.ZodType; readonly output: z.ZodType };
  /**
   * Checks the input and runs the operation.
   *
   * @throws {GatewayError} for a wrong input, or a refusal without a body of its own
   */
  call(
    deps: OperationDeps,
    input: unknown,
    act: OperationAct,
  ): Promise<Done<unknown> | RefusedWithBody<string>>;
}

/** An operation as pages call it: they get a refusal as a value, also that of the input. */
export interface PageOperation<Raw, Result> extends Operation {
  run(deps: OperationDeps, input: Raw, act: OperationAct): Promise<Result | WrongInput>;
}

/** Declares an operation. */
export function operation<In, Raw, Out, Result extends Done<Out> | Refusal>(
  form: OperationForm<In, Raw, Out, Result>,
): PageOperation<Raw, Result> {
  const { input, output, ...rest } = form;
  return {
    ...rest,
    schemas: { input, output },
    async call(deps, raw, act) {
      if (form.authority === "person") deciderOf(act);
      const result = await form.run(deps, readInput(input, raw), act);
      if (!result.ok && "error" in result) throw result.error;
      return result;
    },
    async run(deps, raw, act) {
      const read = readBySchema(input, raw);
      if (read.ok) return await form.run(deps, read.value, act);
      const field = read.problems.find(({ path }) => path.length > 0)?.path[0] ?? "";
      return { ok: false, why: "input", error: inputError(read.problems), field };
    },
  };
}

function inputError(problems: readonly SchemaProblem[]): GatewayError {
  // A member may have several problems; the error names it if no other has one.
  const [field, another] = new Set(problems.map(memberPath).filter((name) => name !== ""));
  const param = another === undefined ? field : undefined;
  return new GatewayError(
    "invalid_request",
    problemLines("", problems).join("; "),
    defined({ param }),
  );
}

/**
 * Reads what a program or a command sent.
 *
 * @throws {GatewayError} that names each wrong member
 */
export function readInput<Schema extends z.ZodType>(
  schema: Schema,
  sent: unknown,
): z.output<Schema> {
  const read = readBySchema(schema, sent);
  if (!read.ok) throw inputError(read.problems);
  return read.value;
}
