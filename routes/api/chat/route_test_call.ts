/**
 * Sends one small chat call through one route, for an operator who wants to know whether it works: whatever its health
 * and its switch, and without another route behind it. Nobody is charged. An answer gets a receipt of 0 in the operator's
 * own account, so that what the provider charges is in the sums of costs like that of any call.
 */
import { attemptAnswer, knownFailure } from "../../../core/calls/attempts/attempt.ts";
import { providerUseOf } from "../../../core/calls/bounds/chat_charge.ts";
import { parseJsonBody } from "../../../core/calls/body/json_body.ts";
import type { ChatCall, ChatExchange } from "../../../core/calls/exchange/chat_call.ts";
import { startChatExchange } from "../../../core/calls/exchange/chat_exchange.ts";
import { readChatRequest } from "../../../core/calls/request/chat_request.ts";
import { providerCost, unknownProviderCost } from "../../../core/billing/provider_cost.ts";
import type { ProviderCost } from "../../../core/billing/usage/receipt.ts";
import type { Model, Route } from "../../../core/catalog/catalog.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import { type AccountId, newId, parseId, type RequestId } from "../../../core/lib/ids/ids.ts";
import type { TokenUsage } from "../../../core/billing/tokens/token_bounds.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import { invariant } from "../../../core/lib/base/assert.ts";
import { readErrorFields } from "../../../core/wire/errors/error_fields.ts";
import type { AnswerReading } from "../../../core/wire/contract/contract.ts";
import type { ReceiptDraft } from "../../../kv/money/wallet/mod.ts";
import type { Gateway } from "../gateway/gateway.ts";

/** Output tokens of a test: enough for a word after some thinking, and cheap on every route. */
const maxTestTokens = 64;

/** Milliseconds until a test is given up: longer than healthy routes need for a word, short enough to wait for. */
const testTimeoutMs = 30_000;

/** Bytes of the answer to a test: many times what its tokens can be. */
const maxTestAnswerBytes = 256 * 1024;

/** The whole request: nothing of a customer is in it. */
const testMessages = [{ role: "user", content: "Reply with the word OK." }];

/** Route to test, and the account that has the receipt. */
export interface RouteTestTarget {
  readonly model: Model;
  readonly route: Route;
  readonly accountId: AccountId;
}

/** Result of a test. */
export interface RouteTestResult {
  readonly requestId: RequestId;
  readonly isOk: boolean;
  /** The status of the provider; absent if no head of an answer arrived. */
  readonly status?: number;
  readonly firstByteMs?: number;
  readonly durationMs: number;
  /** Problem in words. */
  readonly error?: { readonly code: string; readonly message: string };
  /** Charge of the provider, if it is known. */
  readonly costMicroVnd?: bigint;
}

/** Observations of one exchange. */
interface SeenAnswer {
  status: number | undefined;
  firstByteMs: number | undefined;
  isLate: boolean;
  /** Words of the provider's refusal, without keys and hosts; customers are not told all of it. */
  said: string | undefined;
}

function callOf({ clock }: Gateway, { model }: RouteTestTarget, requestId: RequestId): ChatCall {
  const body = parseJsonBody(
    new TextEncoder().encode(
      JSON.stringify({ model: model.id, messages: testMessages, max_tokens: maxTestTokens }),
    ),
  );
  return {
    request: readChatRequest("chat", body.outline),
    body,
    model,
    requestId,
    nowSeconds: Math.floor(clock.nowMs() / 1_000),
    clientHeader: () => undefined,
    strict: false,
  };
}

/** Reads the message of a refusal; `undefined` if it has none that can be shown. */
function providerMessage(body: string, secret: string | undefined): string | undefined {
  try {
    const { message } = readErrorFields(JSON.parse(body));
    if (message === "") return undefined;
    // Whatever a key looks like: some providers repeat it.
    return secret === undefined ? message : message.replaceAll(secret, "[removed]");
  } catch {
    return undefined;
  }
}

/** Sends the call and reads the answer, within the time of a test. */
async function answerOf(
  gateway: Gateway,
  { exchange, secret }: { readonly exchange: ChatExchange; readonly secret: string | undefined },
  seen: SeenAnswer,
  startedMs: number,
): Promise<AnswerReading> {
  const handlers: ChatExchange = {
    ...exchange,
    decodeError(status, body, waitSeconds) {
      seen.said = providerMessage(body, secret);
      return exchange.decodeError(status, body, waitSeconds);
    },
  };
  const deadline = gateway.deadlines.create(() => {
    seen.isLate = true;
    exchange.exchange.cancel();
  });
  deadline.arm(testTimeoutMs);
  try {
    const { status } = await exchange.exchange.response;
    seen.status = status;
    seen.firstByteMs = Math.round(gateway.clock.monotonicMs() - startedMs);
    const { reading } = await attemptAnswer(handlers, gateway, { maxBytes: maxTestAnswerBytes });
    return reading;
  } finally {
    deadline.disarm();
    exchange.exchange.cancel();
  }
}

function errorOf(thrown: unknown, seen: SeenAnswer): GatewayError {
  if (seen.isLate) {
    const seconds = testTimeoutMs / 1_000;
    return new GatewayError("upstream_timeout", `There was no whole answer within ${seconds} s`);
  }
  const known = knownFailure(thrown);
  if (known === undefined) throw thrown;
  return known;
}

function costOf(route: Route, reading: AnswerReading): ProviderCost {
  const { usage, usageRejected } = reading;
  if (usage === undefined || usageRejected) return unknownProviderCost;
  const use = providerUseOf({
    outcome: "completed",
    reading: { ...reading, sawOutput: true },
    charged: usage,
    carriedTier: undefined,
  });
  return providerCost(route.rateCard, use);
}

/** The counts of a report, without what is known of the report itself. */
function countsOf(reported: AnswerReading["usage"]): TokenUsage | undefined {
  if (reported === undefined) return undefined;
  const { said: _said, partlyAbsurd: _partlyAbsurd, ...counts } = reported;
  return counts;
}

/** The key of tests in sums and lists: one for each account, which no caller has. */
function keyOfTests(accountId: AccountId) {
  const keyId = parseId("apiKey", accountId.replace(/^acc_/, "key_"));
  invariant(keyId !== undefined, "ids of accounts and keys have the same form");
  return keyId;
}

/** Writes the receipt of an answer: nothing is charged, and the cost at the provider is kept. */
async function writeReceipt(
  { wallet, rateCards }: Gateway,
  { accountId, route }: RouteTestTarget,
  draft: ReceiptDraft,
): Promise<void> {
  const reserved = await wallet.reserve(accountId, 0n);
  if (!reserved.ok) throw new GatewayError("maintenance", "The store does not answer; try again");
  const card = draft.providerCost === undefined ? undefined : route.rateCard;
  const rows = card === undefined ? undefined : rateCards.attach(card, undefined);
  await wallet.settle(reserved.reservation, draft, rows);
  if (card !== undefined) rateCards.noteStored(card);
}

/** Sends one call through a route, and writes its receipt if it was answered. */
export async function testRoute(
  gateway: Gateway,
  target: RouteTestTarget,
): Promise<RouteTestResult> {
  const { clock, router, catalog: { current: catalog } } = gateway;
  const { model, route, accountId } = target;
  const startedAtMs = clock.nowMs();
  const startedMs = clock.monotonicMs();
  const requestId = newId("request", startedAtMs);
  const seen: SeenAnswer = {
    status: undefined,
    firstByteMs: undefined,
    isLate: false,
    said: undefined,
  };
  const elapsedMs = () => Math.round(clock.monotonicMs() - startedMs);
  const timing = () => ({
    requestId,
    ...(seen.status !== undefined && { status: seen.status }),
    ...(seen.firstByteMs !== undefined && { firstByteMs: seen.firstByteMs }),
    durationMs: elapsedMs(),
  });
  let reading: AnswerReading;
  try {
    const access = { ...router.access(route), onSentAgain: () => {} };
    const exchange = startChatExchange(callOf(gateway, target, requestId), route, access);
    reading = await answerOf(gateway, { exchange, secret: access.secret }, seen, startedMs);
  } catch (thrown) {
    const { code, message } = errorOf(thrown, seen);
    const { said } = seen;
    return { ...timing(), isOk: false, error: { code, message: said ?? message } };
  }
  const result = timing();
  const cost = costOf(route, reading);
  await writeReceipt(gateway, target, {
    requestId,
    keyId: keyOfTests(accountId),
    kind: "chat",
    model: model.id,
    style: "chat",
    route: route.id,
    startedAtMs,
    latencyMs: result.durationMs,
    status: 200,
    stream: false,
    outcome: "completed",
    ...(!reading.usageRejected && defined({ usage: countsOf(reading.usage) })),
    estimated: false,
    units: 1,
    price: { unit: "request", perUnitMicroVnd: 0n },
    priceMicroVnd: 0n,
    attempts: [{ route: route.id, outcome: "ok", ms: result.durationMs }],
    ...(catalog.version !== undefined && { catalogVersion: catalog.version }),
    ...(catalog.hasCosts && { providerCost: cost }),
  });
  return {
    ...result,
    isOk: true,
    ...(cost.kind === "known" && { costMicroVnd: cost.costMicroVnd }),
  };
}
