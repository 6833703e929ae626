/** A developer's first day in the other look, and without script. */
import { firstDayTest, firstDayWithoutScriptTest, refusedFirstCallTest } from "./first_day.ts";

await firstDayTest({ locale: "en", theme: "dark", width: 1280 });
await firstDayWithoutScriptTest();
await refusedFirstCallTest();
