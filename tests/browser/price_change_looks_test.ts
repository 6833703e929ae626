/** A price change in the other looks. */
import type { Look } from "../support/browser/page_soundness.ts";
import { priceChangeTest } from "./price_change.ts";

const looks: readonly Look[] = [
  { locale: "en", theme: "dark", width: 1280 },
  { locale: "en", theme: "light", width: 390 },
  { locale: "vi", theme: "dark", width: 390 },
];

for (const look of looks) await priceChangeTest(look);
