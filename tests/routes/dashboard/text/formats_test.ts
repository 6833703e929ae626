/** Money, shares and times in the form of each language. */
import { formatMoney, formatMoneyShort } from "../../../../core/billing/money/display.ts";
import { durationText, moneyText } from "../../../../routes/dashboard/assets/scripts/figures.js";
import { Money, Time } from "../../../../routes/dashboard/components/mod.ts";
import {
  formatBucket,
  formatDate,
  formatDateTime,
  formatDuration,
  formatPercent,
} from "../../../../routes/dashboard/text/format.ts";
import { withAmounts } from "../../../../routes/operator/pages/base/linked_text.tsx";
import { assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";

const amounts = [
  [315_600_000n, "₫316", "316\u00a0₫", "₫315.60"],
  [18_696_400_000n, "₫18,696", "18.696\u00a0₫", "₫18,696.40"],
  [99_996_000n, "₫100", "100\u00a0₫", "₫99.996"],
  [5_670_100n, "₫5.67", "5,67\u00a0₫", "₫5.6701"],
  [5_600_000n, "₫5.60", "5,60\u00a0₫", "₫5.60"],
  [5_000_000n, "₫5", "5\u00a0₫", "₫5"],
  [-1_524_300_000n, "−₫1,524", "−1.524\u00a0₫", "−₫1,524.30"],
  [-1n, "₫0", "0\u00a0₫", "−₫0.000001"],
  [0n, "₫0", "0\u00a0₫", "₫0"],
] as const;

for (const [microVnd, en, vi, exact] of amounts) {
  Deno.test(`an amount is rounded outside of receipts: ${exact} as ${en}`, () => {
    assertEquals([formatMoneyShort(microVnd, "en"), formatMoneyShort(microVnd, "vi")], [en, vi]);
    assertEquals(formatMoney(microVnd, "en"), exact);
  });
}

Deno.test("an amount has the exact one in the title, and a plus where it is a change", () => {
  const shown = [
    Money({ microVnd: 315_600_000n, locale: "en", signed: true }),
    Money({ microVnd: 315_600_000n, locale: "en", exact: true }),
    Money({ microVnd: -5_000_000n, locale: "en", signed: true }),
    Money({ microVnd: 0n, locale: "en", signed: true }),
  ].map(String);
  assertEquals(
    shown,
    [
      '<data class="money" value="315600000" title="+₫315.60">+₫316</data>',
      '<data class="money" value="315600000" >₫315.60</data>',
      '<data class="money" value="-5000000" >−₫5</data>',
      '<data class="money" value="0" >₫0</data>',
    ],
  );
});

const problems = [
  [
    "12 receipts with 3000000000000 µVND were",
    "12 receipts with ₫3,000,000 were",
    "12 receipts with 3.000.000\u00a0₫ were",
  ],
  ["-1 µVND off", "−₫0.000001 off", "−0,000001\u00a0₫ off"],
  ["3700.5 VND went back", "₫3,700.50 went back", "3.700,50\u00a0₫ went back"],
  ["1.5 µVND, acc_1 VND, 7 VNDx", "1.5 µVND, acc_1 VND, 7 VNDx", "1.5 µVND, acc_1 VND, 7 VNDx"],
] as const;

for (const [line, en, vi] of problems) {
  Deno.test(`a problem of a verification has the amounts of the page: ${line}`, () => {
    assertEquals([withAmounts(line, "en"), withAmounts(line, "vi")], [en, vi]);
  });
}

const atMs = Date.UTC(2026, 9, 27, 17, 5, 9);

const times = [
  [
    "day and time",
    (locale: "en" | "vi") => formatDateTime(atMs, locale),
    "28 Oct 2026, 00:05:09",
    "28/10/2026, 00:05:09",
  ],
  ["day", (locale: "en" | "vi") => formatDate(atMs, locale), "28 Oct 2026", "28/10/2026"],
  [
    "bar of a day",
    (locale: "en" | "vi") => formatBucket(atMs, "day", locale, "short"),
    "28 Oct",
    "28/10",
  ],
  [
    "bar of a day, in full",
    (locale: "en" | "vi") => formatBucket(atMs, "day", locale, "long"),
    "28 Oct 2026",
    "28/10/2026",
  ],
  [
    "bar of an hour",
    (locale: "en" | "vi") => formatBucket(atMs, "hour", locale, "short"),
    "00:05",
    "00:05",
  ],
  [
    "bar of an hour, in full",
    (locale: "en" | "vi") => formatBucket(atMs, "hour", locale, "long"),
    "28 Oct 2026, 00:05",
    "28/10/2026, 00:05",
  ],
  [
    "bar of a month",
    (locale: "en" | "vi") => formatBucket(atMs, "month", locale, "short"),
    "Oct 2026",
    "10/2026",
  ],
  ["share", (locale: "en" | "vi") => formatPercent(-0.137, locale), "−14\u00a0%", "−14\u00a0%"],
  [
    "small share",
    (locale: "en" | "vi") => formatPercent(-0.0137, locale),
    "−1.4\u00a0%",
    "−1,4\u00a0%",
  ],
] as const;

for (const [name, format, en, vi] of times) {
  Deno.test(`one form of dates and shares: ${name}`, () => {
    assertEquals([format("en"), format("vi")], [en, vi]);
  });
}

Deno.test("a time of a list is marked for the script, a day is not: it has no hour to count from", () => {
  const marked = (props: { relative?: boolean; dateOnly?: boolean }) =>
    String(Time({ atMs, locale: "en", ...props })).includes("data-ago");
  assertEquals(
    [{ relative: true }, {}, { relative: true, dateOnly: true }].map(marked),
    [true, false, false],
  );
});

Deno.test("scripts write times and money as the server does", () => {
  const languages = [["en", "en-GB"], ["vi", "vi-VN"]] as const;
  fc.assert(fc.property(fc.double({ min: 0, max: 1e7, noNaN: true }), (ms) => {
    for (const [locale, tag] of languages) {
      assertEquals(durationText(ms, tag), formatDuration(ms, locale));
    }
  }));
  // Halves aside: scripts have floating point, which estimates may have.
  fc.assert(fc.property(fc.integer({ min: 10, max: 1_000_000_000 }), (hundredths) => {
    const vnd = hundredths < 10_000 ? hundredths / 100 : Math.round(hundredths / 100);
    const microVnd = BigInt(Math.round(vnd * 1e6));
    for (const [locale, tag] of languages) {
      assertEquals(moneyText(vnd, tag), formatMoneyShort(microVnd, locale));
    }
  }));
});

Deno.test("a time that is rounded to the next unit is written in it", () => {
  const written = [999.4, 999.6, 9_994, 9_996, 60_000].map((ms) => formatDuration(ms, "en"));
  assertEquals(written.map((one) => one.replace("\u00a0", " ")), [
    "999 ms",
    "1.00 s",
    "9.99 s",
    "10.0 s",
    "60.0 s",
  ]);
});
