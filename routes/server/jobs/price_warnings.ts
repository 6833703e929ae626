/** Warns at the start of prices that are below what a provider charges. */
import { formatVnd } from "../../../core/billing/money/micro_vnd.ts";
import type { Gateway } from "../../api/gateway/gateway.ts";

/** Most lines of the log; the operator's page of margins lists them all. */
const mostPriceWarnings = 20;

/** Logs the routes that charge more than their model's customers pay. Without costs nothing is loaded. */
export async function warnOfPrices(
  { catalog, log }: {
    readonly catalog: Pick<Gateway["catalog"], "current">;
    readonly log: Gateway["log"];
  },
): Promise<void> {
  if (!catalog.current.hasCosts) return;
  const { underpricedRoutes } = await import("../../../core/catalog/underpriced.ts");
  const found = underpricedRoutes(catalog.current);
  for (
    const { model, route, bucket, priceMicroVnd, costMicroVnd, rates } of found.slice(
      0,
      mostPriceWarnings,
    )
  ) {
    log.event("warn", "a price is below its cost", {
      model,
      route,
      rate: bucket,
      price_vnd: formatVnd(priceMicroVnd),
      cost_vnd: formatVnd(costMicroVnd),
      rates_below_cost: rates,
    });
  }
}
