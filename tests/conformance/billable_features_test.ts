/** Recorded traffic requests billable features only in the recordings listed here. */
import { assertEquals } from "../support/assert.ts";
import { findBillableFeatures } from "../../core/wire/billable_features/asked_for.ts";
import { describeRecordings } from "./recordings.ts";

/** Recordings with features that a provider charges for, and their places. */
const billable: Record<string, readonly string[]> = {
  "messages/web-search-citations-thinking": ["web_search tools.0"],
  "responses/web-search": ["web_search tools.0"],
};

describeRecordings("billable features", (recordings) => {
  for (const { name, style, request } of recordings) {
    if (request === undefined) continue;
    Deno.test(`${name}: only known billable features are found`, () => {
      const found = findBillableFeatures(style, request);
      assertEquals(found.map(({ feature, path }) => `${feature} ${path}`), billable[name] ?? []);
    });
  }
});
