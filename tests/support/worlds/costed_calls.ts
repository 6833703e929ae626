/** A catalogue with costs, and a month of calls that have some, for pages of operators. */
import { buildCatalog, type Catalog } from "../../../core/catalog/catalog.ts";
import { gatewayFileSchema } from "../../../core/catalog/schema.ts";
import { providerCost } from "../../../core/billing/provider_cost.ts";
import type { AccountId, ApiKeyId } from "../../../core/lib/ids/ids.ts";
import { RateCardBook } from "../../../kv/money/costs/provider_sheet.ts";
import type { WalletEngine } from "../../../kv/money/wallet/mod.ts";
import { requestIdAt } from "./dashboard_world.ts";
import { draftOf, mustReserve } from "./money_world.ts";

const fileText = await Deno.readTextFile(new URL("../../../gateway.json", import.meta.url));

/**
 * The file of a fresh install, whose provider charges USD: `premium-1` by token, with output dearer than it is sold,
 * `image-1` by image, and everything else at rates that are not known.
 */
export function costedFile() {
  const file = JSON.parse(fileText);
  file.currencies = { USD: 25_400 };
  file.providers.sandbox.currency = "USD";
  const costs: Readonly<Record<string, object>> = {
    "premium-1": {
      unit: "token",
      perMtok: "0.2",
      outputPerMtok: 0.4,
      cacheReadPerMtok: "0.05",
    },
    "image-1": { unit: "image", amount: "0.02" },
  };
  for (const model of file.models) {
    for (const route of model.routes) route.cost = costs[model.id];
  }
  return file;
}

/** The catalogue of {@linkcode costedFile}. */
export function costedCatalog(): Catalog {
  const built = buildCatalog(gatewayFileSchema.parse(costedFile()));
  if (!built.ok) throw new Error(built.problems.join("\n"));
  return built.catalog;
}

const models = ["premium-1", "image-1", "premium-1", "premium-1-thinking"] as const;
const stepMs = 11 * 3_600_000;

/** Makes calls, each 11 hours after the one before, the last now. */
export async function makeCostedCalls(
  { wallet, catalog, accountId, keyId, nowMs, calls }: {
    readonly wallet: WalletEngine;
    readonly catalog: Catalog;
    readonly accountId: AccountId;
    readonly keyId: ApiKeyId;
    readonly nowMs: number;
    readonly calls: number;
  },
): Promise<void> {
  const cards = new RateCardBook();
  for (let at = 0; at < calls; at++) {
    const model = catalog.find(models[at % models.length]!)!;
    const route = model.routes[0]!;
    const startedAtMs = nowMs - (calls - 1 - at) * stepMs;
    const isImage = model.kind === "image";
    const usage = {
      input: 900 + at * 37,
      cacheRead: 300,
      cacheWrite: 0,
      output: 200 + at * 11,
      reasoning: 0,
    };
    const price = isImage ? 1_000_000_000n : BigInt(usage.input + 300 + usage.output) * 8_300n;
    const draft = draftOf(price, {
      requestId: requestIdAt(startedAtMs),
      keyId,
      kind: model.kind,
      model: model.id,
      route: route.id,
      startedAtMs,
      outcome: "completed",
      attempts: [{ route: route.id, outcome: "ok", ms: 400 }],
      price: { unit: isImage ? "image" : "request", perUnitMicroVnd: price },
      providerCost: providerCost(route.rateCard, isImage ? { units: 1 } : { usage }),
    });
    const { usage: _, ...withoutUsage } = draft;
    const attach = route.rateCard === undefined
      ? undefined
      : cards.attach(route.rateCard, undefined);
    await wallet.settle(
      await mustReserve(wallet, accountId, price),
      isImage ? withoutUsage : { ...draft, usage },
      attach,
    );
  }
  await wallet.indexOnce();
}
