/** The error rate says on every page what it counts: its note and its per cent are of the same calls. */
import fc from "fast-check";
import { emptyHour } from "../../../../kv/money/receipts/hour_sums.ts";
import { ErrorStat } from "../../../../routes/dashboard/customer/usage/error_stat.tsx";
import { assertEquals } from "../../../support/assert.ts";

function shownIn(figure: unknown): string {
  return String(figure).replaceAll("\u00a0", " ").replaceAll(/<[^>]+>/g, " ").replaceAll(
    /\s+/g,
    " ",
  )
    .trim();
}

/** The numbers of calls in a text, by the word behind them. */
function numberBefore(text: string, word: string): number {
  return Number(new RegExp(`(\\d+) ${word}`).exec(text)?.[1] ?? 0);
}

Deno.test("the calls that the note of an error rate counts are those of its per cent", () => {
  const counts = fc.nat(300);
  fc.assert(fc.property(counts, counts, counts, (answered, failed, refused) => {
    const calls = { ...emptyHour(), calls: answered + failed, failed };
    const text = shownIn(ErrorStat({ health: { calls, refused }, href: "/usage", locale: "en" }));
    const all = answered + failed + refused;
    if (all === 0) return assertEquals(text, "Errors, 24 h –");
    const [, percent] = /([\d.]+)\s*%/.exec(text) ?? [];
    const named = numberBefore(text, "failed") + numberBefore(text, "refused");
    assertEquals(named, failed + refused, text);
    assertEquals(Number(/of (\d+)/.exec(text)?.[1]), all, text);
    const shown = Number(percent);
    assertEquals(Math.abs(shown - named / all * 100) <= 0.5, true, text);
  }));
});
