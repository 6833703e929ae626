/** Operations on accounts: search, balance and keys, blocking, rate limits, notes. */
import { z } from "zod";
import { formatVnd } from "../../../core/billing/money/micro_vnd.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import { parseId } from "../../../core/lib/ids/ids.ts";
import { recordOf } from "../../../core/lib/base/record_of.ts";
import { rateLimitNames, rateLimitsOf } from "../../../core/limits/limit_table.ts";
import {
  type AccountNote,
  addNote,
  listNotes,
  maxNoteChars,
  maxNotes,
} from "../../../kv/people/accounts/account_notes.ts";
import { type Account, listAccounts, setBlocked } from "../../../kv/people/accounts/accounts.ts";
import { signOutEverywhere } from "../../../kv/people/accounts/sessions.ts";
import { setRateLimits } from "../../../kv/people/accounts/rate_limits.ts";
import { isActive, listApiKeys } from "../../../kv/people/api_keys/api_keys.ts";
import { namedAccount, noAccount } from "./contract/named_account.ts";
import { wrongCursor } from "./contract/lists.ts";
import { operation, refused } from "./contract/operation.ts";
import { proseText, reasonText } from "./contract/texts.ts";

/** Accounts of a page: more than a person reads in a terminal. */
const maxAccountsListed = 1_000;

/** Models of one account with limits of their own: more would be a price list. */
const maxLimitedModels = 50;

/** Largest limit: twelve digits, as forms take them. */
const maxLimit = 999_999_999_999;

const limit = z.union([z.int().min(1).max(maxLimit), z.literal("none")], {
  error: `must be a whole number from 1 to ${maxLimit}, or "none"`,
});

/** Limits in place of the defaults, those that can bind the subject; what is absent keeps the default. */
const accountLimits = z.partialRecord(z.enum(rateLimitsOf("account")), limit);
const modelLimits = z.partialRecord(z.enum(rateLimitsOf("account_model")), limit);

/** The limits of an account as they are stored. */
const storedLimits = z.object({
  ...recordOf(rateLimitNames, () => limit.optional()),
  models: z.record(z.string(), z.object(recordOf(rateLimitNames, () => limit.optional())))
    .optional().describe("By id of the model."),
}).describe("In place of the defaults.");

const accountRow = z.object({
  id: z.string(),
  email: z.string().optional(),
  createdAt: z.iso.datetime(),
  blocked: z.boolean(),
});

function rowOf({ id, email, createdAtMs, blockedAtMs }: Account) {
  return {
    id,
    ...defined({ email }),
    createdAt: new Date(createdAtMs).toISOString(),
    blocked: blockedAtMs !== undefined,
  };
}

/** Lists accounts. */
export const pageOfAccounts = operation({
  name: "accounts.list",
  summary: "Accounts, oldest first",
  effect: "reads",
  input: z.strictObject({
    after: z.string().optional().describe("Id of the last account of the page before."),
    limit: z.coerce.number().int().min(1).max(maxAccountsListed).default(maxAccountsListed),
  }),
  output: z.object({
    object: z.literal("list"),
    data: z.array(accountRow),
    has_more: z.boolean(),
  }),
  async run({ kv }, { after, limit }) {
    const from = after === undefined ? undefined : parseId("account", after);
    if (after !== undefined && from === undefined) {
      return wrongCursor("the id of an account", "after");
    }
    const { accounts, next } = await listAccounts(kv, { limit, ...defined({ after: from }) });
    const body = {
      object: "list" as const,
      data: accounts.map(rowOf),
      has_more: next !== undefined,
    };
    return { ok: true, body };
  },
});

/** Shows one account. */
export const showAccount = operation({
  name: "accounts.show",
  summary: "One account by its id or e-mail address: balance, keys, limits",
  effect: "reads",
  input: z.strictObject({ account: z.string() }),
  output: z.object({
    id: z.string(),
    createdAtMs: z.number(),
    email: z.string().optional(),
    locale: z.string().optional(),
    blockedAtMs: z.number().optional(),
    blockedReason: z.string().optional(),
    deletedAtMs: z.number().optional(),
    lowBalanceVnd: z.string().optional(),
    lowBalanceMailedAtMs: z.number().optional(),
    rateLimits: storedLimits.optional(),
    identities: z.array(z.object({ issuer: z.string(), subject: z.string() })).optional(),
    balanceVnd: z.string(),
    keys: z.array(
      z.object({ id: z.string(), name: z.string(), masked: z.string(), active: z.boolean() }),
    ),
  }),
  async run({ kv, wallet }, { account: text }, { nowMs }) {
    const named = await namedAccount(kv, text);
    if (!named.ok) return named;
    const { lowBalanceMicroVnd, identities, rateLimits, ...account } = named.account;
    const balance = await wallet.balance(account.id);
    const keys = await listApiKeys(kv, account.id);
    const body = {
      ...account,
      ...(lowBalanceMicroVnd !== undefined && { lowBalanceVnd: formatVnd(lowBalanceMicroVnd) }),
      ...(identities !== undefined && { identities: [...identities] }),
      ...(rateLimits !== undefined && { rateLimits: { ...rateLimits } }),
      balanceVnd: formatVnd(balance.totalMicroVnd),
      keys: keys.map((key) => ({
        id: key.id,
        name: key.name,
        masked: key.masked,
        active: isActive(key, nowMs),
      })),
    };
    return { ok: true, body };
  },
});

/** Blocks an account, or admits it again. */
export const turnAccount = operation({
  name: "accounts.block",
  summary: "Blocks an account (sign-in and calls are refused, the money stays), or unblocks it",
  effect: "acts",
  input: z.strictObject({ account: z.string(), blocked: z.boolean(), reason: reasonText }),
  output: accountRow,
  async run({ kv }, { account: text, blocked, reason }, act) {
    const named = await namedAccount(kv, text);
    if (!named.ok) return named;
    const changed = await setBlocked(kv, named.account.id, { blocked, reason }, act);
    if (changed === undefined) return noAccount(text);
    return { ok: true, body: rowOf(changed) };
  },
});

/** Ends all sessions of an account. */
export const signOutAccount = operation({
  name: "accounts.sign_out",
  summary: "Ends all sessions of an account, on every browser; its API keys go on working",
  effect: "acts",
  input: z.strictObject({ account: z.string(), reason: reasonText }),
  output: z.object({ id: z.string(), sessions: z.int().describe("How many were ended.") }),
  async run({ kv }, { account: text, reason }, act) {
    const named = await namedAccount(kv, text);
    if (!named.ok) return named;
    const { id } = named.account;
    return {
      ok: true,
      body: { id, sessions: await signOutEverywhere(kv, id, { ...act, reason }) },
    };
  },
});

/** Sets the rate limits of an account. */
export const limitAccount = operation({
  name: "accounts.limits",
  summary: "Replaces the rate limits of an account; without limits the defaults hold",
  effect: "acts",
  input: z.strictObject({
    account: z.string(),
    limits: accountLimits.default({}),
    models: z.record(z.string(), modelLimits).default({}).describe(
      "Limits on single models, by id.",
    ),
    reason: reasonText,
  }),
  output: z.object({
    id: z.string(),
    rateLimits: storedLimits.nullable(),
  }),
  async run({ kv, catalog }, { account: text, limits, models, reason }, act) {
    const ids = Object.keys(models);
    const unknown = ids.find((id) => catalog?.current.find(id)?.id !== id);
    if (unknown !== undefined || ids.length > maxLimitedModels) {
      const problem = unknown === undefined
        ? `at most ${maxLimitedModels} models may have limits of their own`
        : `there is no model "${unknown}"`;
      return refused("models", "invalid_request", `models: ${problem}`, "models");
    }
    const wanted = { ...limits, ...(ids.length > 0 && { models }) };
    const named = await namedAccount(kv, text);
    if (!named.ok) return named;
    const { id } = named.account;
    const isNone = Object.keys(wanted).length === 0;
    const changed = await setRateLimits(kv, id, isNone ? undefined : wanted, { ...act, reason });
    if (changed === undefined) return noAccount(text);
    const { rateLimits } = changed;
    return {
      ok: true,
      body: { id, rateLimits: rateLimits === undefined ? null : { ...rateLimits } },
    };
  },
});

const noteList = z.object({
  object: z.literal("list"),
  data: z.array(z.object({ at: z.iso.datetime(), by: z.string(), text: z.string() }))
    .describe("Newest first; the audit log has older ones."),
});

function listOfNotes(notes: readonly AccountNote[]) {
  const data = notes.map(({ atMs, by, text }) => ({ at: new Date(atMs).toISOString(), by, text }));
  return { object: "list" as const, data };
}

/** Lists the notes of operators about an account. */
export const notesOfAccount = operation({
  name: "accounts.notes",
  summary: `Notes of operators about an account: the newest ${maxNotes}`,
  effect: "reads",
  input: z.strictObject({ account: z.string() }),
  output: noteList,
  async run({ kv }, { account: text }) {
    const named = await namedAccount(kv, text);
    if (!named.ok) return named;
    return { ok: true, body: listOfNotes(await listNotes(kv, named.account.id)) };
  },
});

/** Adds a note about an account. */
export const noteAccount = operation({
  name: "accounts.note",
  summary: "Adds a note about an account, which its owner does not see",
  effect: "acts",
  input: z.strictObject({ account: z.string(), text: proseText(maxNoteChars) }),
  output: noteList,
  async run({ kv }, { account: named, text }, act) {
    const found = await namedAccount(kv, named);
    if (!found.ok) return found;
    const notes = await addNote(kv, found.account.id, text, act);
    if (notes === undefined) return noAccount(named);
    if (notes === "conflict") {
      return refused("conflict", "invalid_request", "Nothing was added: others kept writing notes");
    }
    return { ok: true, body: listOfNotes(notes) };
  },
});
