/** A price change in the other look. */
import { priceChangeTest } from "./price_change.ts";

await priceChangeTest({ locale: "en", theme: "light", width: 390 });
