/**
 * Operations of customers, each act once: pages, the management API and tests run the same operation and differ only in
 * how they read its input and show its outcome.
 *
 * - Folder `routes/acts/`: the acts of customers as operations: input, rights, cost to others, refusals.
 * - In: who acts for which organisation, and what a form or a program wrote.
 * - Out: what was done, or why not, as data.
 * - Never: writes HTML or JSON for a client, or decides by a role itself (`core/people/organisations/acts.ts`).
 */
import { z } from "zod";
import { defined } from "../../core/lib/base/defined.ts";
import type { Locale } from "../../core/lib/base/locale.ts";
import { parsedText } from "../../core/lib/base/parsed_text.ts";
import { memberPath, readBySchema } from "../../core/lib/environment/schema_words.ts";
import type { Catalog } from "../../core/catalog/catalog.ts";
import { type ErrorCode, GatewayError } from "../../core/lib/errors/errors.ts";
import { type AccountId, parseId } from "../../core/lib/ids/ids.ts";
import type { MasterKeys } from "../../core/people/api_keys/seal.ts";
import { type Act, may, mayOn, type Role } from "../../core/people/organisations/acts.ts";
import type { Control } from "../../kv/engine/control/control.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";
import type { Account } from "../../kv/people/accounts/accounts.ts";
import type { ActivityAct, Doer } from "../../kv/people/audit/account_activity.ts";
import type { Actor } from "../../kv/people/audit/operator_audit.ts";
import type { KeyApp } from "../../kv/people/api_keys/api_keys.ts";
import { type ActName, actSpendings, countSpending } from "./spending.ts";

/** Needs of most operations; the others name what they need besides. */
export interface ActDeps {
  readonly kv: KeyValueStore;
  readonly control: Pick<Control, "refresh">;
  readonly catalog: Pick<Catalog, "find" | "providers">;
  /** Seal the secrets of API keys. */
  readonly masterKeys: MasterKeys;
  /** Active API keys for each member of an organisation of several; absent: ten. */
  readonly keysPerMember?: number | undefined;
  /** Wakes what sends mails. */
  readonly hintMail: () => void;
}

/** Person who acts for an organisation, now. */
export interface Acting {
  readonly account: Account;
  /** The person, or the member who made the management key. */
  readonly personId: AccountId;
  /**
   * The roles by which they act, each of which has to allow the act: the person's, and for a program that of its key as
   * well.
   */
  readonly roles: readonly Role[];
  readonly by: Doer;
  /**
   * The operator who acts for the organisation, for a line in the audit log; what operators do counts against nobody's
   * bounds. Absent: somebody of the organisation acts.
   */
  readonly operator?: Actor;
  /** Name of the person who does it, as mails about the act say it. */
  readonly actorName: string;
  /** The network address of the request. */
  readonly address: string;
  /** The language of mails about the act. */
  readonly locale: Locale;
  readonly nowMs: number;
  /** The organisation at whose provider the person has signed in; absent: another way, or a program. */
  readonly companyId?: AccountId;
  /** The same for every try to send one form or request, so that it is carried out once. */
  readonly formId?: string;
  /** The application that gets the key that is made. */
  readonly app?: KeyApp;
}

/** Reads the id of one kind of thing; `message` says what it must be. */
export function idOf<Kind extends Parameters<typeof parseId>[0]>(kind: Kind, message: string) {
  return parsedText(z.string(message), (text) => parseId(kind, text), message);
}

/** Whether all roles allow an act, at least on what the member has made. */
function mayAtAll({ roles }: Pick<Acting, "roles">, act: Act): boolean {
  return roles.every((role) => may(role, act));
}

/** Whether an act is allowed on something that `makerId` made; without a maker it is no member's own. */
export function mayAct(
  { roles, personId }: Pick<Acting, "roles" | "personId">,
  act: Act,
  makerId: AccountId | undefined,
): boolean {
  return roles.every((role) => mayOn({ role, personId }, act, makerId));
}

/** Refusal as programs are told it. */
export interface RefusalRow {
  readonly code: ErrorCode;
  /** The member of the input at fault. */
  readonly field?: string;
  readonly message: string;
}

/** A member of an input that is wrong. */
export interface InputIssue {
  /** Its path, with dots; empty for the input as a whole. */
  readonly field: string;
  readonly message: string;
}

/** Why nothing was done. */
export interface Refused<Why extends string> extends RefusalDetails {
  readonly ok: false;
  readonly why: Why;
}

/** Details of a refusal beside its reason. */
export interface RefusalDetails {
  /** The members of the input at fault, where the reason alone does not say it. */
  readonly issues?: readonly InputIssue[];
  /** Moment at which the act becomes possible, if that is known. */
  readonly startsAtMs?: number;
}

/** Result of an operation: what it did, or why not. */
export type Result<Body, Why extends string> =
  | { readonly ok: true; readonly body: Body }
  | Refused<Why>;

/** Needs of counting what an act spends. */
type SpendDeps = Pick<ActDeps, "kv">;

/** Operation as it describes itself, whatever it takes and gives. */
export interface DeclaredOperation {
  readonly name: ActName;
  /** The row of the table of roles and acts. */
  readonly act: Act;
  /** Its line in the activity log; `undefined` for what is logged elsewhere. */
  readonly line: ActivityAct | undefined;
}

/** An act of customers. */
export interface Operation<
  Name extends ActName,
  Input extends z.ZodType,
  Body,
  Why extends string,
  Deps extends SpendDeps = ActDeps,
> extends DeclaredOperation {
  readonly name: Name;
  /** Reads what a form or a program wrote. Programs write its members in `snake_case`. */
  readonly input: Input;
  /** The reasons why it may not be done, beside those of every operation. */
  readonly refusals: Readonly<Record<Why, RefusalRow>>;
  readonly run: (
    deps: Deps,
    acting: Acting,
    input: z.output<Input>,
  ) => Promise<Result<Body, Why>>;
  /** The address that gets a mail, of acts that send one to an address that somebody typed. */
  readonly mailTo?: (input: z.output<Input>) => string;
}

type Spends<Name extends ActName, What> = What extends (typeof actSpendings)[Name][number] ? true
  : false;

/** Declares an operation. One that spends mails does not compile without the address that gets them. */
export function operation<
  Name extends ActName,
  Input extends z.ZodType,
  Body,
  Why extends string = never,
  Deps extends SpendDeps = ActDeps,
>(
  declared:
    & Operation<Name, Input, Body, Why, Deps>
    & (Spends<Name, "mail"> extends true
      ? Required<Pick<Operation<Name, Input, Body, Why>, "mailTo">>
      : { readonly mailTo?: never }),
): Operation<Name, Input, Body, Why, Deps> {
  return declared;
}

export function done<Body>(body: Body): { readonly ok: true; readonly body: Body } {
  return { ok: true, body };
}

export function refused<Why extends string>(
  why: Why,
  { issues, startsAtMs }: RefusalDetails = {},
): Refused<Why> {
  return { ok: false, why, ...defined({ issues, startsAtMs }) };
}

/** Why no operation would do it, whichever it is. */
export type CommonRefusal =
  | { readonly ok: false; readonly common: "not_allowed" }
  | { readonly ok: false; readonly common: "spent"; readonly retryAfterSeconds: number }
  | { readonly ok: false; readonly common: "input"; readonly issues: readonly InputIssue[] };

/** Outcome of a performed operation. */
export type Outcome<Body, Why extends string> = Result<Body, Why> | CommonRefusal;

/**
 * Performs an act: reads its input, checks who may do it, counts what it spends, and runs it. This is the one way to run
 * an operation.
 */
export async function perform<
  Name extends ActName,
  Input extends z.ZodType,
  Body,
  Why extends string,
  Deps extends SpendDeps,
>(
  deps: Deps,
  acting: Acting,
  { name, act, input, run, mailTo }: Operation<Name, Input, Body, Why, Deps>,
  sent: unknown,
): Promise<Outcome<Body, Why>> {
  if (!mayAtAll(acting, act)) return { ok: false, common: "not_allowed" };
  const read = readBySchema(input, sent);
  if (!read.ok) {
    const issues = read.problems.map((one) => ({ field: memberPath(one), message: one.message }));
    return { ok: false, common: "input", issues };
  }
  if (acting.operator !== undefined) return await run(deps, acting, read.value);
  const spender = { ...acting, accountId: acting.account.id };
  const verdict = await countSpending(deps.kv, name, spender, mailTo?.(read.value));
  if (!verdict.allowed) {
    return { ok: false, common: "spent", retryAfterSeconds: verdict.retryAfterSeconds };
  }
  return await run(deps, acting, read.value);
}

/** Turns a refusal into the error that programs get. `fieldName` is how the program writes a member. */
export function refusalError<Why extends string>(
  refusals: Readonly<Record<Why, RefusalRow>>,
  refusal: Refused<Why> | CommonRefusal,
  fieldName: (field: string) => string,
): GatewayError {
  const wrong = (code: ErrorCode, message: string, field = "") =>
    field === ""
      ? new GatewayError(code, message)
      : new GatewayError(code, `${fieldName(field)}: ${message}`, { param: fieldName(field) });
  if ("why" in refusal) {
    const { code, message, field } = refusals[refusal.why];
    const [issue] = refusal.issues ?? [];
    return wrong(code, issue?.message ?? message, issue?.field ?? field);
  }
  switch (refusal.common) {
    case "input": {
      const [issue] = refusal.issues;
      return wrong("invalid_request", issue?.message ?? "is wrong", issue?.field);
    }
    case "spent":
      return new GatewayError(
        "rate_limit_reached",
        "Too many requests of this kind; try again later",
        { retryAfterSeconds: refusal.retryAfterSeconds },
      );
    case "not_allowed":
      return new GatewayError("permission_denied", "The role does not allow this");
  }
}
