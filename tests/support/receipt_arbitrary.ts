/** Receipts for property tests. */
import { parseTags } from "../../core/billing/usage/call_tags.ts";
import * as fc from "./property.ts";
import { newId } from "../../core/lib/ids/ids.ts";
import { countedTools, toolChargesMicroVnd } from "../../core/billing/usage/hosted_tools.ts";
import { partsWithin } from "../../core/billing/tokens/token_bounds.ts";
import { defined } from "../../core/lib/base/defined.ts";
import { ownKeyFee } from "../../core/billing/own_key_fee.ts";
import { unknownProviderCost } from "../../core/billing/provider_cost.ts";
import type { OwnKeyCharge, ProviderCost, Receipt } from "../../core/billing/usage/receipt.ts";
import { newAccount, testKeyId } from "./worlds/money_world.ts";

const count = fc.nat({ max: 1_000_000 });
const text = fc.string({ unit: "binary" });
const money = fc.bigInt({ min: 0n, max: 10n ** 18n });

/** Objects as everyone writes them. */
const plainly = { noNullPrototype: true } as const;

/** Any receipt, with arbitrary names. Absent keys stay absent: the types allow no `undefined`. */
export const anyReceipt: fc.Arbitrary<Receipt> = fc.record({
  requestId: fc.nat().map((n) => newId("request", n)),
  accountId: fc.constant(newAccount()),
  keyId: fc.constant(testKeyId),
  kind: fc.constantFrom(
    "chat",
    "image",
    "speech",
    "video",
    "embedding",
    "transcription",
    "rerank",
    "moderation",
    "completion",
  ),
  model: text,
  mappedFrom: text,
  style: fc.constantFrom("messages", "chat", "responses"),
  route: text,
  startedAtMs: fc.nat({ max: 4_000_000_000_000 }),
  latencyMs: count,
  firstOutputMs: count,
  status: fc.integer({ min: 200, max: 599 }),
  stream: fc.boolean(),
  outcome: fc.constantFrom("completed", "empty", "failed", "broken", "client_gone"),
  usage: fc.record({
    input: count,
    cacheRead: count,
    cacheWrite: count,
    cacheWriteHour: count.map((tokens) => tokens + 1),
    output: count,
    reasoning: count,
    inputAudio: count,
    inputImage: count,
    outputAudio: count,
    outputImage: count,
  }, { ...plainly, requiredKeys: ["input", "cacheRead", "cacheWrite", "output", "reasoning"] })
    .map(({ inputAudio, inputImage, outputAudio, outputImage, ...usage }) => {
      const parts = defined({ inputAudio, inputImage, outputAudio, outputImage });
      return { ...usage, ...partsWithin(parts, usage) };
    }),
  estimated: fc.boolean(),
  units: count,
  price: fc.oneof(
    fc.record({
      unit: fc.constant("token" as const),
      inputPerMtokMicroVnd: money,
      outputPerMtokMicroVnd: money,
      cacheReadPerMtokMicroVnd: money,
      cacheWritePerMtokMicroVnd: money,
      cacheWriteHourPerMtokMicroVnd: money,
      inputAudioPerMtokMicroVnd: money,
      inputImagePerMtokMicroVnd: money,
      outputAudioPerMtokMicroVnd: money,
      outputImagePerMtokMicroVnd: money,
    }, {
      ...plainly,
      requiredKeys: [
        "unit",
        "inputPerMtokMicroVnd",
        "outputPerMtokMicroVnd",
        "cacheReadPerMtokMicroVnd",
        "cacheWritePerMtokMicroVnd",
      ],
    }),
    fc.record(
      {
        unit: fc.constantFrom("request", "image", "video", "second", "search"),
        perUnitMicroVnd: money,
      },
      plainly,
    ),
  ),
  toolCharges: fc.uniqueArray(
    fc.record({
      tool: fc.constantFrom(...countedTools),
      uses: fc.integer({ min: 1, max: 100 }),
      perUseMicroVnd: fc.bigInt({ min: 0n, max: 10n ** 12n }),
    }, plainly),
    { minLength: 1, selector: ({ tool }) => tool },
  ),
  serviceTier: fc.constantFrom("flex", "priority"),
  endCode: text,
  tags: fc.constantFrom(parseTags("team=search"), parseTags("env=prod,user=a@b.c:1/2+3-4_5.6")),
  catalogVersion: fc.integer({ min: 1, max: 1_000_000 }),
  costMicroVnd: money,
  shortfallMicroVnd: money,
  heldMicroVnd: money,
  mcpCalls: fc.array(
    fc.record({ server: text, tool: text, failed: fc.boolean(), ms: count }, plainly),
    { minLength: 1, maxLength: 5 },
  ),
  claimMicroVnd: fc.bigInt({ min: 1n, max: 10n ** 18n }),
  ownKey: fc.record({ priceMicroVnd: money, fee: fc.integer({ min: 0, max: 10_000 }) }, plainly),
  region: text,
  providerCost: fc.constantFrom<ProviderCost>(
    unknownProviderCost,
    { kind: "known", card: "USD 1", units: { input: 3, output: 2 }, costMicroVnd: 5n },
  ),
  attempts: fc.array(
    fc.record({
      route: fc.string({ unit: "binary", minLength: 1 }),
      outcome: text,
      ms: count,
      region: text,
      ownKey: fc.constant(true as const),
    }, {
      ...plainly,
      requiredKeys: ["route", "outcome", "ms"],
    }),
  ),
}, {
  ...plainly,
  requiredKeys: [
    "requestId",
    "accountId",
    "keyId",
    "kind",
    "model",
    "style",
    "startedAtMs",
    "latencyMs",
    "status",
    "stream",
    "outcome",
    "estimated",
    "units",
    "price",
    "costMicroVnd",
    "shortfallMicroVnd",
    "attempts",
  ],
}).map((
  {
    region,
    toolCharges,
    serviceTier,
    catalogVersion,
    endCode,
    heldMicroVnd,
    tags,
    ownKey,
    mcpCalls,
    ...receipt
  },
) => ({
  ...receipt,
  ...(tags !== undefined && { tags }),
  ...(serviceTier !== undefined && receipt.price.unit === "token" && { serviceTier }),
  ...defined({ region, catalogVersion, endCode, heldMicroVnd, mcpCalls }),
  // Fees of tools are kept with the tokens.
  ...(toolCharges !== undefined && receipt.usage !== undefined && {
    toolCharges,
    costMicroVnd: receipt.costMicroVnd + toolChargesMicroVnd(toolCharges),
  }),
  ...(ownKey !== undefined && {
    ...withFee(ownKey, toolCharges),
    shortfallMicroVnd: 0n,
  }),
}));

/** A charge is the fee of its price, which contains the fees of tools. */
function withFee(
  { priceMicroVnd, fee }: OwnKeyCharge,
  toolCharges: Receipt["toolCharges"] = [],
): Pick<Receipt, "ownKey" | "costMicroVnd"> {
  const ownKey = { priceMicroVnd: priceMicroVnd + toolChargesMicroVnd(toolCharges), fee };
  return { ownKey, costMicroVnd: ownKeyFee(ownKey.priceMicroVnd, fee) };
}
