/** Refusals, failures and refunds are said in the language of the page, with its form of amounts and a next step. */
import { type ErrorCode, errorTable } from "../../../../core/lib/errors/errors.ts";
import { systemReasonText } from "../../../../kv/money/ledger/system_reasons.ts";
import type { RefusedCall } from "../../../../kv/services/calls/refused_calls.ts";
import {
  failureWords,
  refusalWords,
} from "../../../../routes/dashboard/customer/usage/failure_words.ts";
import { ledgerReason } from "../../../../routes/usage_api/statements/ledger_reason.ts";
import { locales } from "../../../../routes/dashboard/text/i18n.ts";
import { assert, assertEquals } from "../../../support/assert.ts";

type Refusal = Pick<RefusedCall, "code" | "message" | "figures">;

const message = "Insufficient balance: this call needs 38402.47 VND to begin";

const refusals:
  readonly (readonly [refusal: Refusal, en: readonly string[], vi: readonly string[]])[] = [
    [
      {
        code: "insufficient_balance",
        message,
        figures: {
          kind: "balance",
          neededMicroVnd: 38_402_470_000n,
          availableMicroVnd: 1_200_000_000n,
          heldMicroVnd: 0n,
        },
      },
      [
        "This call needs ₫38,402 to begin; ₫1,200 is available.",
        "Top up, then call again with the same key.",
      ],
      [
        "Lượt gọi này cần 38.402\u00a0₫ để bắt đầu; hiện có 1.200\u00a0₫.",
        "Hãy nạp tiền rồi gọi lại bằng chính khoá này.",
      ],
    ],
    // A row of an earlier version has no figures.
    [
      { code: "insufficient_balance", message },
      ["The balance does not pay for this call.", "Top up, then call again with the same key."],
      ["Số dư không đủ cho lượt gọi này.", "Hãy nạp tiền rồi gọi lại bằng chính khoá này."],
    ],
    [
      {
        code: "balance_on_hold",
        message,
        figures: {
          kind: "balance",
          neededMicroVnd: 2_000_000_000n,
          availableMicroVnd: 500_000_000n,
          heldMicroVnd: 9_000_000_000n,
        },
      },
      [
        "This call needs ₫2,000 to begin; ₫500 is free and ₫9,000 is held by running calls.",
        "Call again when they have ended, or ask for fewer output tokens.",
      ],
      [
        "Lượt gọi này cần 2.000\u00a0₫ để bắt đầu; còn 500\u00a0₫, các lượt gọi đang chạy giữ 9.000\u00a0₫.",
        "Hãy gọi lại khi chúng xong, hoặc yêu cầu ít token đầu ra hơn.",
      ],
    ],
    [
      {
        code: "spending_limit_reached",
        message,
        figures: {
          kind: "spending_limit",
          limitName: "dailyLimit",
          limitMicroVnd: 5_000_000_000n,
          usedMicroVnd: 4_999_000_000n,
          neededMicroVnd: 12_000_000n,
        },
      },
      [
        "The limit of the key is ₫5,000; ₫4,999 is spent or held, and this call needs ₫12.",
        "Raise the limit of the key, or wait until its period ends.",
      ],
      [
        "Hạn mức của khoá là 5.000\u00a0₫; đã chi hoặc đang giữ 4.999\u00a0₫, lượt gọi này cần 12\u00a0₫.",
        "Hãy nâng hạn mức của khoá, hoặc đợi hết kỳ.",
      ],
    ],
    [
      {
        code: "rate_limit_reached",
        message,
        figures: {
          kind: "rate_limit",
          limitName: "tokensPerMinute",
          limit: 10_000,
          retryAfterSeconds: 12,
        },
      },
      ["A rate limit is reached: Tokens per minute 10,000.", "Call again in 12 s."],
      ["Đã chạm giới hạn tốc độ: Token mỗi phút 10.000.", "Hãy gọi lại sau 12 giây."],
    ],
    [
      {
        code: "rate_limit_reached",
        message,
        figures: { kind: "rate_limit", limitName: "tokensPerMinute", limit: 10 },
      },
      [
        "A rate limit is reached: Tokens per minute 10.",
        "The call needs more than the limit allows: ask for less at once.",
      ],
      [
        "Đã chạm giới hạn tốc độ: Token mỗi phút 10.",
        "Lượt gọi cần nhiều hơn giới hạn cho phép: hãy yêu cầu ít hơn trong một lần.",
      ],
    ],
  ];

for (const [refusal, en, vi] of refusals) {
  Deno.test(`a refusal has words and amounts of the page: ${vi[0]}`, () => {
    for (const [locale, expected] of [["en", en], ["vi", vi]] as const) {
      const { what, next, detail } = refusalWords(refusal, locale);
      assertEquals([what, next, detail], [...expected, undefined], locale);
    }
  });
}

const codes = Object.keys(errorTable).filter((code): code is ErrorCode =>
  Object.hasOwn(errorTable, code)
);

Deno.test("every code has words and a next step of its own in each language", () => {
  assert(codes.length > 20);
  for (const code of codes) {
    const words = locales.map((locale) => refusalWords({ code, message: "tools.0: odd" }, locale));
    const [one, other] = words;
    assert(one?.what !== other?.what && one?.next !== other?.next, code);
    for (const { what, next } of words) assert(/[.]$/u.test(what) && /[.]$/u.test(next), code);
  }
});

Deno.test("the message of the API is kept where it names what is wrong, and for a code of another version", () => {
  const odd = "max_tokens: must be a positive integer";
  assertEquals(refusalWords({ code: "invalid_request", message: odd }, "vi").detail, odd);
  assertEquals(refusalWords({ code: "busy", message: odd }, "vi").detail, undefined);
  const unknown = refusalWords({ code: "of_another_version" as ErrorCode, message: odd }, "vi");
  assertEquals([unknown.what, unknown.detail], ["of_another_version", odd]);
});

Deno.test("a failure at the provider has a next step, with or without a code of the table", () => {
  for (const locale of locales) {
    const known = failureWords("upstream_timeout", locale);
    const other = failureWords("connection_lost", locale);
    assert(known.next !== other.next && other.next.length > 0, locale);
  }
});

const video = {
  kind: "video",
  videoId: "video_1",
  state: "failed",
  amountMicroVnd: 3_700_000_000n,
} as const;

const reasons = [
  [
    "Video video_1 failed: 3700 VND back",
    "Video video_1 failed: ₫3,700 refunded",
    "Video video_1 lỗi: đã hoàn 3.700\u00a0₫",
  ],
  [
    systemReasonText({ ...video, state: "cancelled" }),
    "Video video_1 was cancelled: ₫3,700 refunded",
    "Video video_1 bị huỷ: đã hoàn 3.700\u00a0₫",
  ],
  [
    systemReasonText({ kind: "withheld" }),
    "The answer could not be confirmed in time and was withheld: refunded",
    "Câu trả lời không được xác nhận kịp nên không giao: đã hoàn tiền",
  ],
  [
    systemReasonText({ kind: "voided" }),
    "Play money of the sandbox, taken back",
    "Thu hồi tiền thử của hệ thống thử nghiệm",
  ],
  ["Goodwill: 500 VND back", "Goodwill: 500 VND back", "Goodwill: 500 VND back"],
] as const;

for (const [reason, en, vi] of reasons) {
  Deno.test(`a line of the ledger is said in the language of the page: ${reason}`, () => {
    assertEquals([ledgerReason({ reason }, "en"), ledgerReason({ reason }, "vi")], [en, vi]);
  });
}

Deno.test("what the gateway writes into the ledger has not changed", () => {
  assertEquals(systemReasonText(video), "Video video_1 failed: 3700 VND back");
});
