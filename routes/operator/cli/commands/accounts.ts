/** Commands on accounts: creation, display, wallets, second factors. */
import type { Hono } from "hono";
import { z } from "zod";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { formatVnd, inVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { normaliseEmail } from "../../../../core/people/accounts/email_address.ts";
import { createAccount } from "../../../../kv/people/accounts/accounts.ts";
import { operatorDoer } from "../../../../kv/people/audit/account_activity.ts";
import { organisationFacts } from "../../../../kv/people/organisations/organisations.ts";
import { keyCreation, keyRevocation } from "../../../acts/keys.ts";
import {
  type ActDeps,
  type Acting,
  type Operation,
  perform,
  refusalError,
} from "../../../acts/operation.ts";
import type { ActName } from "../../../acts/spending.ts";
import { isOwnOperationId } from "../../../../kv/money/ledger/ledger.ts";
import { commandLine } from "../../../../kv/people/audit/operator_audit.ts";
import {
  type AdjustmentResult,
  adjustWallet,
} from "../../../../kv/services/operations/wallet_adjustment.ts";
import { forgetSecondFactor } from "../../../../kv/people/accounts/second_factor.ts";
import { namedAccount, requireAccount } from "../../operations/contract/named_account.ts";
import { balanceIn, readInput } from "../../operations/contract/operation.ts";
import { lineText, maxReasonChars, proseText } from "../../operations/contract/texts.ts";
import { type AdminDeps, readJson } from "./admin_deps.ts";
import { defined } from "../../../../core/lib/base/defined.ts";
import { parseTypedVnd } from "../../../../core/billing/money/read_amount.ts";

// Repeats amounts in the answer of the command, so that a slip is noticed.

/** Formats an amount with spaces between thousands: half of the readers would take a dot or a comma for a fraction. */
function spaced(amountMicroVnd: bigint): string {
  return `${formatVnd(amountMicroVnd).replace(/\B(?=(\d{3})+(?!\d))/g, " ")} VND`;
}

/**
 * Describes what a command did.
 *
 * @param amountMicroVnd above 0 for a credit
 *
 * @example
 * ```ts
 * import { movementSummary } from "./accounts.ts";
 * const text = movementSummary(1_050_000_000_000n, "applied");
 * if (text !== "Credited 1 050 000 VND") throw new Error(text);
 * ```
 */
export function movementSummary(amountMicroVnd: bigint, status: "applied" | "duplicate"): string {
  const act = amountMicroVnd > 0n ? "credited" : "debited";
  const amount = spaced(amountMicroVnd > 0n ? amountMicroVnd : -amountMicroVnd);
  return status === "applied"
    ? `${act === "credited" ? "Credited" : "Debited"} ${amount}`
    : `Nothing moved: this operation has ${act} ${amount} before`;
}

// Commands on API keys.

/** The name of a key that was given none. */
const defaultKeyName = "admin";

const keyBody = z.looseObject({});

/** The machine's owner, who acts for the owner of an organisation. */
async function actingFor(
  { kv, clock }: Pick<AdminDeps, "kv" | "clock">,
  text: string,
): Promise<Acting> {
  const named = await namedAccount(kv, text);
  if (!named.ok) throw named.error;
  const { account } = named;
  return {
    account,
    personId: organisationFacts(account).ownerId,
    roles: ["owner"],
    by: operatorDoer(commandLine),
    operator: commandLine,
    actorName: commandLine.email,
    address: "",
    locale: account.locale ?? "vi",
    nowMs: clock.nowMs(),
  };
}

type KeyDeps = Pick<
  AdminDeps,
  "kv" | "clock" | "masterKeys" | "control" | "catalog" | "hintMail" | "keysPerMember"
>;

/** Performs an act on the keys of an account; the members of its input are named as the act names them. */
async function performed<
  Name extends ActName,
  Input extends z.ZodType,
  Body,
  Why extends string,
>(
  deps: KeyDeps,
  account: string,
  act: Operation<Name, Input, Body, Why>,
  sent: unknown,
): Promise<Body> {
  const { catalog, hintMail = () => {}, ...rest } = deps;
  const find = (id: string) => catalog?.current.find(id);
  const actDeps: ActDeps = { ...rest, catalog: { find }, hintMail };
  const outcome = await perform(actDeps, await actingFor(deps, account), act, sent);
  if (outcome.ok) return outcome.body;
  throw refusalError(act.refusals, outcome, (field) => field);
}

/** Adds `/accounts/{account}/keys`. */
export function addKeyRoutes(app: Hono, deps: KeyDeps): void {
  app.post("/accounts/:account/keys", async (context) => {
    const sent = { name: defaultKeyName, ...readInput(keyBody, await readJson(context)) };
    const account = context.req.param("account");
    const { record, secret } = await performed(deps, account, keyCreation, sent);
    return context.json({ id: record.id, name: record.name, key: secret });
  });

  app.delete("/accounts/:account/keys/:key", async (context) => {
    const { account, key } = context.req.param();
    const { id } = await performed(deps, account, keyRevocation, { id: key });
    return context.json({ id, revoked: true });
  });
}

/** Characters of the shortest reason for a correction of a wallet. */
const minReasonChars = 3;

/** Characters of the shortest operation id given by hand: a shorter one would be used again by accident. */
const minOperationIdChars = 8;

/** Characters of the longest operation id given by hand. */
const maxOperationIdChars = 100;

/** What `account create` sends. */
export const accountBody = z.strictObject({
  email: z.string().transform(normaliseEmail).refine(
    (email) => email !== undefined,
    "must be an e-mail address",
  ).optional(),
});

/** What `credit` sends. */
export const creditBody = z.strictObject({
  vnd: z.string(),
  reason: proseText(maxReasonChars, minReasonChars),
  // The store would write all halves of characters as the same one, under which the movement would not be found.
  operationId: lineText(maxOperationIdChars, minOperationIdChars)
    .refine(
      (id) => !isOwnOperationId(id),
      "is the gateway's own (a bank notice is credited on the operator's pages); use another",
    ),
});

/** Adds `POST /accounts` and, below an account, its second factor. */
export function addAccountRoutes(
  app: Hono,
  { kv, clock }: Pick<AdminDeps, "kv" | "clock">,
): void {
  app.post("/accounts", async (context) => {
    const { email } = readInput(accountBody, await readJson(context));
    const account = await createAccount(kv, {
      nowMs: clock.nowMs(),
      by: commandLine,
      ...defined({ email }),
    });
    return context.json(account);
  });

  app.delete("/accounts/:account/second-factor", async (context) => {
    const id = await requireAccount(kv, context.req.param("account"));
    await forgetSecondFactor(kv, id, { operator: commandLine, nowMs: clock.nowMs() });
    return context.json({ id, secondFactor: "forgotten" });
  });
}

function refusalOf(result: Extract<AdjustmentResult, { readonly ok: false }>): string {
  switch (result.why) {
    case "state": {
      const { amountMicroVnd, reason } = result.entry;
      return `this operation id was used for ${
        formatVnd(amountMicroVnd)
      } VND, "${reason}"; use another`;
    }
    case "insufficient":
      return `the wallet has ${formatVnd(result.availableMicroVnd)} VND that no running call holds`;
    case "target":
      return "the account is deleted";
    case "busy":
    case "changed":
      return "the wallet kept changing; try again";
    // No limit binds the owner of the machine.
    case "beneficiary":
    case "limit":
      return "it needs somebody else";
  }
}

/** Adds `POST /accounts/{account}/credit`: credits a wallet or, with a negative amount, debits it. */
export function addCreditRoute(
  app: Hono,
  { kv, clock, wallet }: Pick<AdminDeps, "kv" | "clock" | "wallet">,
): void {
  app.post("/accounts/:account/credit", async (context) => {
    const { vnd, reason, operationId } = readInput(creditBody, await readJson(context));
    const amountMicroVnd = parseTypedVnd(vnd);
    if (amountMicroVnd === undefined) {
      throw new GatewayError("invalid_request", `Not an amount in whole VND: ${vnd}`);
    }
    const accountId = await requireAccount(kv, context.req.param("account"));
    const result = await adjustWallet(kv, { accountId, amountMicroVnd, reason }, {
      operator: commandLine,
      operationId,
      nowMs: clock.nowMs(),
      balanceOf: balanceIn({ wallet }),
    });
    if (!result.ok) {
      throw new GatewayError("invalid_request", `Nothing was moved: ${refusalOf(result)}`);
    }
    const { status, entry } = result;
    const balance = await wallet.balance(accountId);
    const summary = movementSummary(amountMicroVnd, status);
    const balanceVnd = formatVnd(balance.totalMicroVnd);
    return Response.json(inVnd({ summary, status, entry, balanceVnd }));
  });
}
