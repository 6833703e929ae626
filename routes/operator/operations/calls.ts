/** Operations on the calls of all customers: their metadata, with what only the operator knows of them. */
import { z } from "zod";
import { formatVnd } from "../../../core/billing/money/micro_vnd.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import { parseId } from "../../../core/lib/ids/ids.ts";
import { objectSchema } from "../../../core/lib/json/schemas.ts";
import { vietnamDay } from "../../../core/lib/time/vietnam_time.ts";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";
import {
  type Call,
  callerOf,
  findCall,
  takeCalls,
  takeCallsOfAll,
} from "../../usage_api/search/call_scan.ts";
import {
  askedStatus,
  callsJson,
  callStatusForm,
  firstDay,
  refusedFields,
} from "../../usage_api/calls.ts";
import { receiptFields } from "../../usage_api/receipt_json.ts";
import { rangeMs, requireRange } from "../../usage_api/range.ts";
import { listBody, listCursor, listLimit, listOf, wrongCursor } from "./contract/lists.ts";
import { namedAccount } from "./contract/named_account.ts";
import { operation, refused } from "./contract/operation.ts";

/** Members that customers see of a call that was answered, and of one that was refused. */
const seenByCustomers = [
  objectSchema("A call that was answered.", receiptFields),
  objectSchema("A call that was refused before a provider was asked.", refusedFields),
];

const callRow = z.looseObject({
  request_id: z.string(),
  account_id: z.string(),
  route: z.string().nullable().describe("The route that answered."),
  provider_cost_vnd: z.string().nullable().describe("null: it is not known."),
}).meta({
  description: "As customers see the call, and what the operator alone knows. Never a prompt.",
  anyOf: seenByCustomers,
});

async function rowsOf(kv: KeyValueStore, calls: readonly Call[]) {
  const shown = await callsJson(kv, calls);
  return calls.map((call, at) => {
    const receipt = call.kind === "receipt" ? call.receipt : undefined;
    const cost = receipt?.providerCost;
    return {
      ...shown[at],
      request_id: call.requestId,
      account_id: callerOf(call).accountId,
      route: receipt?.route ?? null,
      provider_cost_vnd: cost?.kind === "known" ? formatVnd(cost.costMicroVnd) : null,
    };
  });
}

/** Lists calls. */
export const listCalls = operation({
  name: "calls.list",
  summary: "Calls of all customers or of one, newest first; a page may be short and have a next",
  effect: "reads",
  input: z.strictObject({
    account: z.string().optional().describe("Its id or e-mail address."),
    from: z.string().optional().describe("First day, in Vietnam time."),
    to: z.string().optional(),
    key: z.string().optional(),
    model: z.string().optional(),
    status: z.string().regex(askedStatus, callStatusForm).optional(),
    error: z.string().optional(),
    before: listCursor,
    limit: listLimit,
  }),
  output: listOf(callRow),
  async run({ kv }, input, { nowMs }) {
    const { account, from, to, key: keyId, model, status, error, limit } = input;
    const before = input.before === undefined ? undefined : parseId("request", input.before);
    if (input.before !== undefined && before === undefined) {
      return wrongCursor("a request id");
    }
    const query = new URLSearchParams(defined({ from, to }));
    const range = requireRange(query, vietnamDay(nowMs), firstDay);
    const filter = { ...rangeMs(range), keyId, model, status, error, before };
    const named = account === undefined ? undefined : await namedAccount(kv, account);
    if (named?.ok === false) return named;
    const { calls, next } = named === undefined
      ? await takeCallsOfAll(kv, filter, limit)
      : await takeCalls(kv, { ...filter, accountId: named.account.id }, limit);
    const data = await rowsOf(kv, calls);
    return { ok: true, body: listBody(data, { next, last: calls.at(-1)?.requestId }) };
  },
});

/** Shows one call. */
export const showCall = operation({
  name: "calls.show",
  summary: "One call of any customer by its request id: metadata only",
  effect: "reads",
  input: z.strictObject({ call: z.string() }),
  output: callRow,
  async run({ kv }, { call: text }) {
    const requestId = parseId("request", text);
    const call = requestId && await findCall(kv, requestId);
    const [row] = call === undefined ? [] : await rowsOf(kv, [call]);
    return row === undefined
      ? refused("missing", "not_found", `There is no such call: ${text}`)
      : { ok: true, body: row };
  },
});
