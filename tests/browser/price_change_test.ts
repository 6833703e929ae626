/** The operator's journey of the fast tier: a price is changed and changed back, in one look. */
import { priceChangeTest } from "./price_change.ts";

await priceChangeTest({ locale: "vi", theme: "light", width: 1280 });
