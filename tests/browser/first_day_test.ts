/** The customer's journey of the fast tier: from sign-up to the first call, in one look. */
import { firstDayTest } from "./first_day.ts";

await firstDayTest({ locale: "vi", theme: "light", width: 390 });
