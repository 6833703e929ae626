/** Makes the calls of visitors: counts them, and sends them to the API with a key of the account that pays. */
import type { Context } from "hono";
import { fromVnd } from "../../../../core/billing/money/micro_vnd.ts";
import type { Receipt } from "../../../../core/billing/usage/receipt.ts";
import { type AccountId, parseId } from "../../../../core/lib/ids/ids.ts";
import { dayMs } from "../../../../core/lib/time/durations.ts";
import { vietnamDay, vietnamOffsetMs } from "../../../../core/lib/time/vietnam_time.ts";
import { countTry, type RateVerdict } from "../../../../kv/people/accounts/rate_limits.ts";
import { createApiKey, updateApiKey } from "../../../../kv/people/api_keys/api_key_changes.ts";
import {
  type ApiKeyOptions,
  type ApiKeyRecord,
  isActive,
  listApiKeys,
  revealApiKey,
} from "../../../../kv/people/api_keys/api_keys.ts";
import { readReceipt } from "../../../../kv/money/receipts/receipts.ts";
import { countTryByAddress } from "../../../auth/sign_in_budgets.ts";
import type { DashboardDeps, TrialDeps } from "../../page/deps.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import { clientAddress } from "../../visitor/doer.ts";

/** Characters of a visitor's message: a question with its context, and a small sum to reserve. */
export const maxTrialPromptChars = 1_000;

/** Tokens of an answer: a page of text, and room for a model that reasons first. */
export const maxTrialOutputTokens = 600;

/** Calls of all visitors that run at the same time, so that paying customers hardly notice them. */
const maxTrialCallsAtOnce = 8;

/** The name by which the key is found again. */
const trialKeyName = "Visitors of /try";

/** Counts the calls of a day of Vietnam, in which the budget counts too. */
function countCall(
  { kv, clock }: Pick<DashboardDeps, "kv" | "clock">,
  { callsPerAddress, callsPerDay }: TrialDeps,
  address: string,
): { readonly ofAddress: () => Promise<RateVerdict>; readonly ofAll: () => Promise<RateVerdict> } {
  const nowMs = clock.nowMs() + vietnamOffsetMs;
  const rule = (name: string, count: number) => ({ name, count, windowMs: dayMs });
  return {
    ofAddress: () => countTryByAddress(kv, rule("trial_address", callsPerAddress), address, nowMs),
    ofAll: () => countTry(kv, rule("trial", callsPerDay), "all", nowMs),
  };
}

/**
 * Returns the keys of visitors, newest last: one in use, and those that were revoked. A limit of a day belongs to its
 * key, so at most one key is made in a day, and none on the day on which one was revoked.
 */
async function trialKeys(
  { kv }: Pick<DashboardDeps, "kv">,
  accountId: AccountId,
): Promise<readonly ApiKeyRecord[]> {
  return (await listApiKeys(kv, accountId)).filter(({ name }) => name === trialKeyName);
}

/** Finds the key that pays, with the limit that is configured, or makes it. `undefined`: there is none today. */
async function trialKeyOf(
  deps: Pick<DashboardDeps, "kv" | "clock" | "masterKeys">,
  accountId: AccountId,
  { vndPerDay }: TrialDeps,
): Promise<ApiKeyRecord | undefined> {
  const { kv, masterKeys, clock } = deps;
  const nowMs = clock.nowMs();
  const today = vietnamDay(nowMs);
  const settings: ApiKeyOptions = {
    name: trialKeyName,
    dailyLimitMicroVnd: fromVnd(vndPerDay),
    rateLimits: { callsAtOnce: maxTrialCallsAtOnce },
    readsOnlyOwnCalls: true,
  };
  const keys = await trialKeys(deps, accountId);
  const active = keys.find((key) => isActive(key, nowMs));
  if (active !== undefined) return await updateApiKey(kv, accountId, active.id, () => settings);
  const endedToday = keys.some(({ revokedAtMs }) =>
    revokedAtMs !== undefined && vietnamDay(revokedAtMs) === today
  );
  if (endedToday) return undefined;
  const formId = `${trialKeyName} ${today}`;
  const made = await createApiKey(kv, masterKeys, accountId, { ...settings, nowMs, formId });
  return made.ok
    ? made.record
    : (await trialKeys(deps, accountId)).find((key) => isActive(key, nowMs));
}

/** Why a visitor's call was not made. */
export type TrialRefusal = "address_used_up" | "day_used_up" | "unavailable";

/** A visitor's question. */
export interface TrialQuestion {
  readonly model: string;
  readonly maxOutput: number;
  readonly prompt: string;
  readonly isStreamed: boolean;
}

/** Sends a question; the answer is that of the API. */
export async function askAsVisitor(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  trial: TrialDeps,
  { model, maxOutput, prompt, isStreamed }: TrialQuestion,
): Promise<Response | TrialRefusal> {
  const address = clientAddress(c);
  const counted = countCall(deps, trial, address);
  if (!(await counted.ofAddress()).allowed) return "address_used_up";
  if (!(await counted.ofAll()).allowed) return "day_used_up";
  const payer = await trial.payer();
  const key = payer === undefined ? undefined : await trialKeyOf(deps, payer, trial);
  const secret = key === undefined ? undefined : await revealApiKey(deps.masterKeys, key);
  if (secret === undefined) return "unavailable";
  const request = new Request(`${deps.baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    signal: c.req.raw.signal,
    body: JSON.stringify({
      model,
      messages: [{ role: "user", content: prompt }],
      max_tokens: Math.min(maxOutput, maxTrialOutputTokens),
      ...(isStreamed && { stream: true }),
    }),
  });
  return await deps.dispatch(request, address);
}

/** Reads the receipt of a visitor's call; `undefined` for all other calls, and while there is none. */
export async function readTrialReceipt(
  deps: Pick<DashboardDeps, "kv">,
  trial: TrialDeps,
  id: string,
): Promise<Receipt | undefined> {
  const requestId = parseId("request", id);
  const receipt = requestId === undefined ? undefined : await readReceipt(deps.kv, requestId);
  if (receipt === undefined || receipt.accountId !== await trial.payer()) return undefined;
  const keys = await trialKeys(deps, receipt.accountId);
  return keys.some(({ id }) => id === receipt.keyId) ? receipt : undefined;
}
