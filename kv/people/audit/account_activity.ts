/**
 * Keeps the activity log of an account: who did what, when, from where, and what it was before and after. An act writes
 * its line in the same commit, wherever the act has one. Lines expire by themselves (`activityKeptMs`).
 */
import { formatVnd } from "../../../core/billing/money/micro_vnd.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import {
  type AccountId,
  type ActivityId,
  type ApiKeyId,
  type ManagementKeyId,
  newId,
} from "../../../core/lib/ids/ids.ts";
import { dayMs } from "../../../core/lib/time/durations.ts";
import { vietnamIsoTime } from "../../../core/lib/time/vietnam_time.ts";
import { activityKey, activityPrefix } from "../../engine/schema/keys.ts";
import { takeFitting } from "../../engine/store/bounded_search.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import type { Actor } from "./operator_audit.ts";

/** Milliseconds for which a line is kept: two years, so that a yearly audit finds the whole year before. */
export const activityKeptMs = 731 * dayMs;

/** The acts that are logged. */
export const activityActs = [
  "signed_in",
  "signed_out",
  "sessions_ended",
  "new_browser",
  "identity_added",
  "sign_in_failed",
  "second_factor_failed",
  "second_factor_requirement_changed",
  "second_factor_forgotten",
  "app_added",
  "app_removed",
  "passkey_added",
  "passkey_removed",
  "recovery_codes_made",
  "recovery_code_used",
  "password_changed",
  "email_changed",
  "mails_changed",
  "invoice_details_changed",
  "low_balance_mark_changed",
  "required_tags_changed",
  "call_settings_changed",
  "provider_key_changed",
  "presets_changed",
  "api_key_made",
  "api_key_changed",
  "api_key_shown",
  "api_key_rotated",
  "api_key_revoked",
  "key_rules_changed",
  "rate_limits_changed",
  "topup_order_made",
  "topup_order_cancelled",
  "voucher_redeemed",
  "invoice_requested",
  "statement_exported",
  "activity_exported",
  "data_exported",
  "deletion_requested",
  "organisation_made",
  "organisation_renamed",
  "member_invited",
  "invitation_withdrawn",
  "member_joined",
  "member_role_changed",
  "member_removed",
  "member_readmitted",
  "ownership_handed_over",
  "company_sign_in_changed",
  "company_domain_changed",
  "team_made",
  "team_deleted",
  "management_key_made",
  "management_key_revoked",
  "budgets_changed",
  "webhooks_changed",
  "account_blocked",
  "account_unblocked",
  "account_signed_out",
] as const;

/** An act that is logged. */
export type ActivityAct = typeof activityActs[number];

/** Whether a text names an act. */
export function isActivityAct(text: string | undefined): text is ActivityAct {
  return activityActs.some((act) => act === text);
}

/** From where somebody acts. */
export interface Whence {
  /** The network address, as the server saw it. */
  readonly address: string;
  /** The browser in a few words; empty for a program. */
  readonly browser: string;
}

/** Doer of an act. */
export type Doer =
  | ({ readonly kind: "person"; readonly accountId: AccountId; readonly email?: string } & Whence)
  /** A program with an API key. */
  | ({ readonly kind: "key"; readonly keyId: ApiKeyId } & Whence)
  /** A program with a key of the management API. */
  | ({ readonly kind: "management_key"; readonly keyId: ManagementKeyId } & Whence)
  /** Somebody who has not signed in. */
  | ({ readonly kind: "stranger" } & Whence)
  /** Nobody: the gateway does it by itself. */
  | { readonly kind: "gateway" }
  /** Somebody of the operator; customers do not see who. */
  | { readonly kind: "operator"; readonly email: string };

/** Names and values, as people read them. */
export type ActivityFields = Readonly<Record<string, string>>;

/** One line. It has no secret, and nothing of a prompt. */
export interface ActivityLine {
  readonly id: ActivityId;
  readonly atMs: number;
  readonly act: ActivityAct;
  readonly by: Doer;
  /** Subject of the act: a key, an order, a month; empty: the account. */
  readonly subject: string;
  readonly before?: ActivityFields;
  readonly after?: ActivityFields;
}

/** An act to log. */
export interface Activity extends Omit<ActivityLine, "id" | "subject" | "before" | "after"> {
  readonly accountId: AccountId;
  readonly subject?: string;
  /** Members that differ, as they were before and as they are now. No secrets. */
  readonly before?: object;
  readonly after?: object;
}

/** Bounds of a line, so that it stays far below the bound of a value: some 15 kB. */
const maxFields = 30;
const maxValueChars = 200;

function textOf(name: string, value: unknown): readonly [string, string] {
  if (typeof value === "bigint" && name.endsWith("MicroVnd")) {
    return [name.replace(/MicroVnd$/u, "Vnd"), formatVnd(value)];
  }
  if (typeof value === "number" && name.endsWith("AtMs")) {
    return [name.replace(/Ms$/u, ""), vietnamIsoTime(value)];
  }
  return [name, Array.isArray(value) ? value.join(", ") : String(value)];
}

/** Writes the members of an object as text, those of objects in it under both names. */
function fieldsOf(value: object, prefix = ""): [string, string][] {
  return Object.entries(value).flatMap(([name, member]: [string, unknown]): [string, string][] => {
    if (member === undefined || member === null) return [];
    if (typeof member === "object" && !Array.isArray(member)) {
      return fieldsOf(member, `${prefix}${name}.`);
    }
    const [known, text] = textOf(name, member);
    return [[`${prefix}${known}`, text.slice(0, maxValueChars)]];
  });
}

function withoutEqual(
  fields: readonly [string, string][],
  others: readonly [string, string][],
): ActivityFields | undefined {
  const known = new Map(others);
  const changed = fields.filter(([name, text]) => known.get(name) !== text).slice(0, maxFields);
  return changed.length === 0 ? undefined : Object.fromEntries(changed);
}

/** Adds a line to the atomic write of the act. */
export function addActivity(operation: AtomicWrite, activity: Activity): void {
  const { accountId, atMs, act, by, subject = "" } = activity;
  const before = fieldsOf(activity.before ?? {});
  const after = fieldsOf(activity.after ?? {});
  const line: ActivityLine = {
    id: newId("activity", atMs),
    atMs,
    act,
    by,
    subject: subject.slice(0, maxValueChars),
    ...defined({ before: withoutEqual(before, after), after: withoutEqual(after, before) }),
  };
  operation.set(activityKey(accountId, line.id), line, { expireIn: activityKeptMs });
}

/** Doer of something, and its time; `by` is absent where nobody of the account does it. */
export interface Done {
  readonly by?: Doer | undefined;
  readonly nowMs: number;
}

/** Adds the line of an act to its atomic write, if somebody of the account does it. */
export function addAct(
  operation: AtomicWrite,
  accountId: AccountId,
  act: ActivityAct,
  { by, nowMs }: Done,
  what: Pick<Activity, "subject" | "before" | "after"> = {},
): void {
  if (by !== undefined) addActivity(operation, { accountId, act, by, atMs: nowMs, ...what });
}

/** Writes a line by itself, for acts that change nothing in the store: an export, a wrong password. */
export async function writeActivity(kv: KeyValueStore, activity: Activity): Promise<void> {
  const operation = kv.atomic();
  addActivity(operation, activity);
  await operation.commit();
}

/** The operator who acts, as the log of an account has them. */
export function operatorDoer({ email }: Actor): Doer {
  return { kind: "operator", email };
}

/** The lines to read. */
export interface ActivityFilter {
  readonly act?: ActivityAct | undefined;
  /** The account or the address of the person, or the id of the key. */
  readonly person?: string | undefined;
}

function fits({ act, by }: ActivityLine, filter: ActivityFilter): boolean {
  if (filter.act !== undefined && act !== filter.act) return false;
  if (filter.person === undefined) return true;
  const names = by.kind === "person"
    ? [by.accountId, by.email]
    : by.kind === "key" || by.kind === "management_key"
    ? [by.keyId]
    : [by.kind];
  return names.includes(filter.person);
}

/** Searches the log of an account, newest first. The reading is bounded: a page may be short and have a next one. */
export async function findActivity(
  kv: KeyValueStore,
  accountId: AccountId,
  { count, before, ...filter }: ActivityFilter & {
    readonly count: number;
    /** Continues with the lines older than this one. */
    readonly before?: ActivityId | undefined;
  },
): Promise<{ readonly lines: readonly ActivityLine[]; readonly next: ActivityId | undefined }> {
  const prefix = activityPrefix(accountId);
  const selector = before === undefined
    ? { prefix }
    : { prefix, end: activityKey(accountId, before) };
  const read = kv.list<ActivityLine>(selector, { reverse: true });
  const { rows, next } = await takeFitting(read, { count, fits: (line) => fits(line, filter) });
  return { lines: rows, next: next?.id };
}

/** Reads all lines of an account that fit, newest first. */
export async function* allActivity(
  kv: KeyValueStore,
  accountId: AccountId,
  filter: ActivityFilter = {},
): AsyncGenerator<ActivityLine> {
  const rows = kv.list<ActivityLine>({ prefix: activityPrefix(accountId) }, { reverse: true });
  for await (const { value } of rows) if (fits(value, filter)) yield value;
}
