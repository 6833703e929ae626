/** The columns of receipts in a warehouse: all that operators know of a call, and nothing of its content. */
import { billedInputTokens } from "../../../core/billing/tokens/token_bounds.ts";
import { tagsText } from "../../../core/billing/usage/call_tags.ts";
import { toolChargesMicroVnd } from "../../../core/billing/usage/hosted_tools.ts";
import type { Receipt } from "../../../core/billing/usage/receipt.ts";
import { idTimeMs } from "../../../core/lib/ids/ids.ts";
import type { Column } from "./parquet.ts";

const known = ({ providerCost }: Receipt) =>
  providerCost?.kind === "known" ? providerCost : undefined;

/** A column that is added stands last, and no column changes its meaning: warehouses keep what they have loaded. */
export const receiptColumns: readonly Column<Receipt>[] = [
  {
    name: "request_id",
    type: "text",
    about: "The id of the call; unique.",
    cell: ({ requestId }) => requestId,
  },
  {
    name: "called_at",
    type: "time",
    about: "When the call arrived: the time in its id, which decides its day.",
    cell: ({ requestId }) => idTimeMs("request", requestId),
  },
  { name: "account_id", type: "text", about: "Who pays.", cell: ({ accountId }) => accountId },
  { name: "key_id", type: "text", about: "The API key.", cell: ({ keyId }) => keyId },
  {
    name: "kind",
    type: "text",
    about: "What was made: `chat`, `image`, `speech`, `video`, …",
    cell: ({ kind }) => kind,
  },
  {
    name: "model",
    type: "text",
    about: "The model in the catalogue.",
    cell: ({ model }) => model,
  },
  {
    name: "requested_model",
    type: "text",
    about: "The name that was sent, if it was mapped.",
    cell: ({ mappedFrom }) => mappedFrom,
  },
  { name: "style", type: "text", about: "The style of the endpoint.", cell: ({ style }) => style },
  {
    name: "stream",
    type: "flag",
    about: "Whether the answer was streamed.",
    cell: ({ stream }) => stream,
  },
  {
    name: "status",
    type: "count",
    about: "The HTTP status that the client saw.",
    cell: ({ status }) => status,
  },
  {
    name: "outcome",
    type: "text",
    about: "How it ended: `completed`, `failed`, `cut`, …",
    cell: ({ outcome }) => outcome,
  },
  {
    name: "end_code",
    type: "text",
    about: "What ended a stream that was not whole.",
    cell: ({ endCode }) => endCode,
  },
  {
    name: "route",
    type: "text",
    about: "The route that answered; null: none did.",
    cell: ({ route }) => route,
  },
  {
    name: "attempts",
    type: "count",
    about: "How many routes were tried.",
    cell: ({ attempts }) => attempts.length,
  },
  {
    name: "region",
    type: "text",
    about: "The region of the gateway.",
    cell: ({ region }) => region,
  },
  {
    name: "started_at",
    type: "time",
    about: "When the work on it began.",
    cell: ({ startedAtMs }) => startedAtMs,
  },
  {
    name: "first_output_ms",
    type: "count",
    about: "Milliseconds to the first output.",
    cell: ({ firstOutputMs }) => firstOutputMs,
  },
  {
    name: "latency_ms",
    type: "count",
    about: "Milliseconds to the end.",
    cell: ({ latencyMs }) => latencyMs,
  },
  {
    name: "billed_input_tokens",
    type: "count",
    about: "All tokens of the prompt, cached ones included; null: it is not counted in tokens.",
    cell: ({ usage }) => usage && billedInputTokens(usage),
  },
  {
    name: "cache_read_tokens",
    type: "count",
    about: "Those that a cache had.",
    cell: ({ usage }) => usage?.cacheRead,
  },
  {
    name: "cache_write_tokens",
    type: "count",
    about: "Those that a cache keeps.",
    cell: ({ usage }) => usage?.cacheWrite,
  },
  {
    name: "output_tokens",
    type: "count",
    about: "All tokens of the answer.",
    cell: ({ usage }) => usage?.output,
  },
  {
    name: "reasoning_tokens",
    type: "count",
    about: "Those of them that were reasoning.",
    cell: ({ usage }) => usage?.reasoning,
  },
  {
    name: "estimated",
    type: "flag",
    about: "Whether the gateway counted the tokens itself.",
    cell: ({ estimated }) => estimated,
  },
  {
    name: "units",
    type: "count",
    about: "Units of a price that is not one of tokens: pictures, seconds, …",
    cell: ({ units }) => units,
  },
  {
    name: "service_tier",
    type: "text",
    about: "The tier of service whose factor the rates contain.",
    cell: ({ serviceTier }) => serviceTier,
  },
  {
    name: "catalog_version",
    type: "count",
    about: "The version of the catalogue that it was charged by.",
    cell: ({ catalogVersion }) => catalogVersion,
  },
  {
    name: "cost_vnd",
    type: "vnd",
    about: "What the customer paid; a refund is a line of the ledger.",
    cell: ({ costMicroVnd }) => costMicroVnd,
  },
  {
    name: "tool_fees_vnd",
    type: "vnd",
    about: "The fees of hosted tools in the price.",
    cell: ({ toolCharges }) => toolChargesMicroVnd(toolCharges ?? []),
  },
  {
    name: "shortfall_vnd",
    type: "vnd",
    about: "The part of the price that the wallet could not pay.",
    cell: ({ shortfallMicroVnd }) => shortfallMicroVnd,
  },
  {
    name: "claim_vnd",
    type: "vnd",
    about: "What the provider reported beyond what was charged.",
    cell: ({ claimMicroVnd }) => claimMicroVnd ?? 0n,
  },
  {
    name: "provider_cost_vnd",
    type: "vnd",
    about: "What the provider charges; null: not known.",
    cell: (receipt) => known(receipt)?.costMicroVnd,
  },
  {
    name: "rate_card",
    type: "text",
    about: "The rates of the provider.",
    cell: (receipt) => known(receipt)?.card,
  },
  {
    name: "tags",
    type: "text",
    about: "The customer's tags, as `env=prod,team=search`.",
    cell: ({ tags }) => tags && tagsText(tags),
  },
  {
    name: "held_vnd",
    type: "vnd",
    about: "What was reserved of the wallet for it; null: its receipt does not say.",
    cell: ({ heldMicroVnd }) => heldMicroVnd,
  },
  {
    name: "own_key_price_vnd",
    type: "vnd",
    about: "The price of a call that the customer's own key served, of which `cost_vnd` is a fee.",
    cell: ({ ownKey }) => ownKey?.priceMicroVnd,
  },
];
