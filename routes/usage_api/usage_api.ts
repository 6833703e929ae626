/**
 * The JSON API of usage and balance: `GET /v1/usage`, `/v1/receipts`, `/v1/receipts/{request_id}`,
 * `/v1/calls`, `/v1/calls/{request_id}`, `/v1/generation` and `/v1/balance`, with an API key or a management key, free of charge; and
 * proofs of them.
 *
 * - Folder `routes/usage_api/`: usage, receipts and balance as JSON, for programs and for pages.
 * - In: requests with an API key or a management key, ranges of days.
 * - Out: JSON, rows and columns of exports.
 * - Never: moves money: these calls are free.
 */
import { ascending } from "../../core/lib/base/ascending.ts";
import { type Context, Hono } from "hono";
import { loadedOnce } from "../../core/lib/base/assert.ts";
import type { Clock } from "../../core/lib/time/clock.ts";
import { defined } from "../../core/lib/base/defined.ts";
import { GatewayError } from "../../core/lib/errors/errors.ts";
import { newId } from "../../core/lib/ids/ids.ts";
import { fieldsJson } from "../../core/lib/json/fields.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import {
  always,
  constant,
  count,
  type DescribedField,
  listField,
  objectField,
  optional,
  pageFields,
  text,
  vnd,
} from "../../core/lib/json/schemas.ts";
import { type CallTag, isTagKey } from "../../core/billing/usage/call_tags.ts";
import { formatVnd } from "../../core/billing/money/micro_vnd.ts";
import { vietnamDay } from "../../core/lib/time/vietnam_time.ts";
import { keyMember } from "../../core/limits/budgets.ts";
import type { Act } from "../../core/people/organisations/acts.ts";
import { getApiKey } from "../../kv/people/api_keys/api_keys.ts";
import type { KeyDirectory } from "../../kv/people/api_keys/key_directory.ts";
import { readRefundsOf } from "../../kv/money/ledger/refunds.ts";
import type { WalletEngine } from "../../kv/money/wallet/mod.ts";
import { readTagUsage, readUsage, type Usage, type UsageRow } from "../../kv/money/ledger/usage.ts";
import { isKeyGroup, readKeyGroups, totalUsage, usageBy } from "./summary.ts";
import {
  type Answer,
  callAnswer,
  callListAnswer,
  callListRows,
  cursorOf,
  type Env,
  firstDay,
  generationAnswer,
  keyAskedFor,
  ownReceipt,
  type Reader,
  requireBalanceRight,
  seesKeyNames,
  tagAskedFor,
} from "./calls.ts";
import { authenticate } from "../http/authenticate.ts";
import { authoriseManagement, hasManagementKey } from "../http/management_key.ts";
import { withCommonHeaders } from "../http/own_headers.ts";
import { errorResponse } from "../http/error_response.ts";
import { rowLimit, wrongParameter } from "../http/query.ts";
import { boundedRange, maxUsageDays, rangeMs, requireRange } from "./range.ts";
import type { DayRange } from "../../kv/money/receipts/day_sums.ts";
import { receiptJson } from "./receipt_json.ts";
import { takeReceipts } from "./search/call_scan.ts";
import type { StatementDeps } from "./statements.ts";

export interface UsageApiDeps extends StatementDeps {
  readonly clock: Clock;
  readonly directory: KeyDirectory;
  readonly wallet: Pick<WalletEngine, "balance">;
}

/** The fields of a sum of calls. */
const sumFields: readonly DescribedField<Usage>[] = [
  always("calls", count, ({ calls }) => calls),
  always("failed_calls", count, ({ failedCalls }) => failedCalls),
  always("input_tokens", count, ({ inputTokens }) => inputTokens),
  always("cache_read_tokens", count, ({ cacheReadTokens }) => cacheReadTokens),
  always("cache_write_tokens", count, ({ cacheWriteTokens }) => cacheWriteTokens),
  always("output_tokens", count, ({ outputTokens }) => outputTokens),
  always("units", count, ({ units }) => units),
  // The sum of the receipts; refunds follow separately.
  always("cost_vnd", vnd, ({ costMicroVnd }) => formatVnd(costMicroVnd)),
  always("refunded_vnd", vnd, ({ refundedMicroVnd }) => formatVnd(refundedMicroVnd)),
];

/** Says of which member or team a key is. */
type GroupOfKey = (keyId: string) => string;

/** A row with the value of the tag by which it is grouped. */
type GroupedRow = UsageRow & { readonly tag?: CallTag };

/** The values of `group_by`; each is the name of a group's field. */
const groupings: Readonly<Record<string, (row: GroupedRow, groupOf: GroupOfKey) => string>> = {
  day: (row) => row.day,
  key: (row) => row.keyId,
  model: (row) => row.model,
  tag: (row) => row.tag?.value ?? "",
  member: (row, groupOf) => groupOf(row.keyId),
  team: (row, groupOf) => groupOf(row.keyId),
};

const groupingNames: readonly string[] = Object.keys(groupings);

/** The regular expression of `group_by`. */
export const groupingPattern = "^(day|key|model|member|team|tag:[A-Za-z][A-Za-z0-9_.-]*)$";

/** Sums of calls, in groups. */
interface GroupedUsage {
  readonly range: DayRange;
  readonly groupBy: string;
  readonly total: Usage;
  readonly groups: readonly UsageGroup[];
}

/** The sum of a group. */
interface UsageGroup extends Usage {
  readonly groupBy: string;
  /** The day, the model, the value of the tag, or the id of the key, member or team; empty: of no member or team. */
  readonly of: string;
}

const day: JsonObject = { type: "string", format: "date" };

const groupFields: readonly DescribedField<UsageGroup>[] = [
  ...groupingNames.map((name) =>
    optional<UsageGroup>(name, text, ({ groupBy, of }) => groupBy === name ? of : undefined)
  ),
  ...sumFields,
];

/** The fields of the sums that an account asks for. */
export const usageFields: readonly DescribedField<GroupedUsage>[] = [
  constant("object", "usage"),
  always("from", day, ({ range }) => range.fromDay),
  always("to", day, ({ range }) => range.toDay),
  constant("time_zone", "+07:00"),
  always("group_by", { type: "string", enum: [...groupingNames] }, ({ groupBy }) => groupBy),
  objectField("total", "The sum of all calls.", sumFields, ({ total }) => total),
  listField(
    "data",
    "The sum of a group, which one of `day`, `key`, `model`, `tag`, `member` and `team` names; `member` and `team` are those that the key of the call has now, and empty where it has none.",
    groupFields,
    ({ groups }) => groups,
  ),
];

/**
 * Reads `group_by`: `tag:team` groups by the values of a tag.
 *
 * @throws {GatewayError} for an unknown one
 */
function groupingAskedFor(c: Context<Env>) {
  const [groupBy = "", tagKey] = (c.req.query("group_by") ?? "day").split(":", 2);
  const nameOf = Object.hasOwn(groupings, groupBy) ? groupings[groupBy] : undefined;
  const isRight = groupBy === "tag"
    ? tagKey !== undefined && isTagKey(tagKey)
    : tagKey === undefined;
  if (nameOf === undefined || !isRight) {
    throw wrongParameter(
      "group_by",
      "must be day, key, model, member, team, or a tag like tag:team",
    );
  }
  return { groupBy, nameOf, tagKey };
}

function usageAnswer({ kv, clock }: UsageApiDeps): Answer {
  return async (c, reader) => {
    const { accountId } = reader;
    const { searchParams } = new URL(c.req.url);
    const { range, cut } = boundedRange(requireRange(searchParams, vietnamDay(clock.nowMs())));
    if (cut) throw wrongParameter("from", `at most ${maxUsageDays} days at once`);
    const { groupBy, nameOf, tagKey } = groupingAskedFor(c);
    const keyId = keyAskedFor(c, reader);
    const model = c.req.query("model");
    const tag = tagAskedFor(c);
    const choice = tagKey === undefined || tag?.key === tagKey ? tag : { key: tagKey };
    if (tag !== undefined && choice !== tag) {
      throw wrongParameter("tag", "must have the key by which group_by groups");
    }
    const usage: readonly GroupedRow[] = choice === undefined
      ? await readUsage(kv, accountId, range)
      : await readTagUsage(kv, accountId, range, choice);
    const rows = usage.filter((row) =>
      (keyId === undefined || row.keyId === keyId) && (model === undefined || row.model === model)
    );
    const groupOf = isKeyGroup(groupBy) ? await readKeyGroups(kv, accountId, groupBy) : () => "";
    const groups = usageBy(rows, (row) => nameOf(row, groupOf));
    if (groupBy === "day") groups.sort(([one], [other]) => ascending(one, other));
    return fieldsJson(usageFields, {
      range,
      groupBy,
      total: totalUsage(rows),
      groups: groups.map(([of, usage]): UsageGroup => ({ groupBy, of, ...usage })),
    });
  };
}

/** The fields of a page of receipts. */
export const receiptListFields = pageFields("Receipt");

function receiptListAnswer({ kv, clock }: UsageApiDeps): Answer {
  return async (c, reader) => {
    const { accountId } = reader;
    const { searchParams } = new URL(c.req.url);
    const limit = rowLimit(searchParams, callListRows);
    const range = requireRange(searchParams, vietnamDay(clock.nowMs()), firstDay);
    const { receipts, next } = await takeReceipts(kv, {
      accountId,
      ...rangeMs(range),
      keyId: keyAskedFor(c, reader),
      model: c.req.query("model"),
      tag: tagAskedFor(c),
      before: cursorOf(c),
    }, limit);
    const refunds = await readRefundsOf(kv, receipts);
    return fieldsJson(receiptListFields, {
      data: receipts.map((receipt) =>
        receiptJson({ receipt, refund: refunds.get(receipt.requestId) })
      ),
      firstId: receipts[0]?.requestId,
      lastId: next ?? receipts.at(-1)?.requestId,
      hasMore: next !== undefined,
    });
  };
}

function receiptAnswer({ kv }: UsageApiDeps): Answer {
  return async (c, reader) => {
    const receipt = await ownReceipt(c, reader, kv);
    const key = await seesKeyNames(kv, reader)
      ? await getApiKey(kv, reader.accountId, receipt.keyId)
      : undefined;
    const refund = (await readRefundsOf(kv, [receipt])).get(receipt.requestId);
    return receiptJson({ receipt, refund, keyName: key?.name ?? null });
  };
}

type Balance = Awaited<ReturnType<WalletEngine["balance"]>>;

/** The fields of a balance. */
export const balanceFields: readonly DescribedField<Balance>[] = [
  constant("object", "balance"),
  constant("currency", "VND"),
  // Negative if the account owes money.
  always("balance_vnd", vnd, ({ totalMicroVnd }) => formatVnd(totalMicroVnd)),
  // The cost of calls beyond the balance; the next top-up pays it first.
  always(
    "owed_vnd",
    vnd,
    ({ totalMicroVnd }) => formatVnd(totalMicroVnd < 0n ? -totalMicroVnd : 0n),
  ),
  // Reserved by running calls; included in the balance.
  always("reserved_vnd", vnd, ({ reservedMicroVnd }) => formatVnd(reservedMicroVnd)),
];

function balanceAnswer({ wallet }: UsageApiDeps): Answer {
  return async (_, reader) => {
    requireBalanceRight(reader);
    return fieldsJson(balanceFields, await wallet.balance(reader.accountId));
  };
}

/** Makes the body of an answer for everybody. */
type PublicAnswer = (c: Context<Env>) => Promise<JsonObject | Response>;

/** Time for which caches may keep what everybody reads: a day is signed once in a night. */
const publicCache = "public, max-age=60";

/** An answer that few ask for: its code is loaded with the first request, not with the start. */
function loadedLater(load: () => Promise<Answer>): Answer {
  const answer = loadedOnce(load);
  return async (c, reader) => await (await answer())(c, reader);
}

/** Reading under a path. */
interface Reading {
  /** Act that a management key needs; an API key reads what is of its account. */
  readonly act: Act;
  readonly answer: (deps: UsageApiDeps) => Answer;
}

/** Readings, by the path as OpenAPI writes it. */
export const readings: Readonly<Record<string, Reading>> = {
  "/v1/usage": { act: "view_usage", answer: usageAnswer },
  "/v1/usage/series": {
    act: "view_usage",
    answer: (deps) =>
      loadedLater(async () => (await import("./series.ts")).usageSeriesAnswer(deps)),
  },
  "/v1/usage/export": {
    act: "view_usage",
    answer: (deps) =>
      loadedLater(async () => (await import("./usage_export.ts")).usageExportAnswer(deps)),
  },
  "/v1/receipts": { act: "view_usage", answer: receiptListAnswer },
  "/v1/receipts/{id}": { act: "view_usage", answer: receiptAnswer },
  "/v1/receipts/{id}/proof": {
    act: "view_usage",
    answer: ({ kv }) =>
      loadedLater(async () => (await import("./proofs.ts")).receiptProofAnswer(kv)),
  },
  "/v1/generation": { act: "view_usage", answer: ({ kv }) => generationAnswer(kv) },
  "/v1/statements": {
    act: "view_money",
    answer: (deps) =>
      loadedLater(async () => (await import("./statements.ts")).statementListAnswer(deps)),
  },
  "/v1/statements/{month}": {
    act: "view_money",
    answer: (deps) =>
      loadedLater(async () => (await import("./statements.ts")).statementAnswer(deps)),
  },
  "/v1/statements/{month}/proof": {
    act: "view_money",
    answer: ({ kv }) =>
      loadedLater(async () => (await import("./proofs.ts")).statementProofAnswer(kv)),
  },
  "/v1/calls": { act: "view_usage", answer: callListAnswer },
  "/v1/calls/{id}": { act: "view_usage", answer: callAnswer },
  "/v1/activity": {
    act: "view_activity",
    answer: (deps) => loadedLater(async () => (await import("./activity.ts")).activityAnswer(deps)),
  },
  "/v1/balance": { act: "view_money", answer: balanceAnswer },
};

const honoPath = (path: string) => path.replace(/\{(\w+)\}/g, ":$1");

/** Finds who reads: by an API key, or by a management key whose role may do the act. */
async function readerOf(c: Context<Env>, deps: UsageApiDeps, act: Act): Promise<Reader> {
  const { kv, clock, directory } = deps;
  const { headers } = c.req.raw;
  const clientAddress = c.env?.clientAddress ?? "127.0.0.1";
  if (hasManagementKey(headers)) {
    const request = { headers, clientAddress, act, nowMs: clock.nowMs() };
    const { account, by, roles } = await authoriseManagement(kv, request);
    return { accountId: account.id, program: by, roles };
  }
  const { accountId, key } = await authenticate(headers, directory, clientAddress);
  const memberId = keyMember({ ...key, accountId });
  return {
    accountId,
    ...defined({ memberId }),
    ...(key.readsOnlyOwnCalls === true && { onlyKeyId: key.id }),
  };
}

/** Builds the JSON API of usage. Mount it at `/`. */
export function createUsageApi(deps: UsageApiDeps): Hono<Env> {
  const publish = (answer: PublicAnswer, cacheControl: string) => async (c: Context<Env>) => {
    const requestId = newId("request", deps.clock.nowMs());
    try {
      const body = await answer(c);
      const response = body instanceof Response ? body : c.json(body);
      response.headers.set("cache-control", cacheControl);
      return withCommonHeaders(response, requestId);
    } catch (error) {
      return errorResponse(error, "chat", requestId);
    }
  };
  const handle = (act: Act, answer: Answer) =>
    publish(async (c) => await answer(c, await readerOf(c, deps, act)), "no-store");
  const notAllowed = () => {
    const error = new GatewayError("method_not_allowed", "Use GET on this path");
    const response = errorResponse(error, "chat", newId("request", deps.clock.nowMs()));
    response.headers.set("allow", "GET");
    return response;
  };
  const app = new Hono<Env>();
  for (const [path, { act, answer }] of Object.entries(readings)) {
    app.get(honoPath(path), handle(act, answer(deps))).all(honoPath(path), notAllowed);
  }
  const published: readonly (readonly [string, PublicAnswer])[] = [
    [
      "/v1/proofs/days",
      async (c) => await (await import("./proofs.ts")).signedDaysAnswer(deps.kv, c),
    ],
    [
      "/.well-known/gateway-proof-keys.json",
      async () => await (await import("./proofs.ts")).proofKeysAnswer(deps.kv),
    ],
  ];
  for (const [path, answer] of published) {
    app.get(path, publish(answer, publicCache)).all(path, notAllowed);
  }
  return app;
}
