/** The words of the pages, by page and language, and wordings that no page or mail may use again. */
import { sourcesIn, sourceText } from "../../../repository/source_files.ts";
import { assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { openDashboardWorld, testPassword } from "../../../support/worlds/dashboard_world.ts";
import { operatorWorld } from "../../../support/worlds/operator_world.ts";
import { locales } from "../../../../routes/dashboard/text/i18n.ts";

/** What a text must not say: literal pictures, nameless actors, translations of terms that the trade leaves alone. */
const retired = [
  "We have sent a mail",
  "no second mail",
  "e-mail",
  "and final",
  "when the bank reports it",
  "path of a đồng",
  "hold the most that it can cost",
  "disturbed",
  "95 of 100",
  "Other days",
  "What it takes",
  "Beside it",
  "model's own",
  "Paid by key",
  "models that see",
  "that is sound",
  "that is pictures",
  "sound in",
  "have arrived",
  "money without an invoice",
  "no open work",
  "Owed to customers",
  "is sold at",
  " Colours",
  "Tokens of a prompt",
  "Only tell",
  "Make the budget",
  "Calls go on.",
  "Your server is told",
  "Yêu cầu có lỗi",
  "Tokens of an answer",
  "Fresh input",
  "First output",
  "Price list version",
  "under Usage",
  "[Usage](/usage)",
  "Nothing has this name",
  "Takes pictures",
  "if other",
  "Look twice",
  "for a second operator`",
  "Most output",
  "là giá cuối",
  "Lời của bạn",
  "Ngân hàng báo là",
  "theo đơn vị đã công bố",
  "95 trên 100",
  "Ngày khác",
  "ầu ra đầu tiên",
  "iểm cuối",
  "Nhận những gì",
  "ổi khoá API",
  "Bí mật",
  "có thì chỉ lượt gọi",
  "được xem gì",
  "thư thứ hai",
  "mang tên này",
  "Lời dẫn",
  "òi nhà cung cấp",
  "Mở thành trang",
  "uay về chứ",
  "[Mức sử dụng](/usage)",
  "trong Mức sử dụng",
  "tên lạ",
  "từ bộ đệm",
  "vào bộ đệm",
  "Sổ tiền",
  "Việc vượt mức",
] as const;

/** The code of a file without its comments, in which a word may be explained. */
function codeOf(path: string): string {
  return sourceText(path).split("\n").filter((line) => !/^\s*(?:\/\*|\*|\/\/)/u.test(line))
    .join("\n");
}

Deno.test("no page and no mail uses a retired wording", () => {
  const used = ["routes/dashboard", "routes/operator/pages", "core/people/mail"]
    .flatMap((folder) => [...sourcesIn(folder)])
    .flatMap((path) => {
      const code = codeOf(path);
      return retired.filter((words) => code.includes(words)).map((words) => `${path}: ${words}`);
    });
  assertEquals(used, []);
});

/** A page with words that it shows in each language. */
type Page = readonly [path: string, en: readonly string[], vi: readonly string[]];

const publicPages: readonly Page[] = [
  ["/", [
    "All prices in VND. No extra fees.",
    "Credited in full once your bank confirms.",
    "Where every đồng goes",
    "We hold the maximum cost, then charge the actual.",
    "Prompt tokens",
    "Output tokens",
    'aria-label="Theme"',
  ], [
    "Giá bằng VND, không thêm phí.",
    "Tiền vào ví ngay khi ngân hàng xác nhận",
    "Dữ liệu của bạn là của bạn",
    "Mỗi đồng đi đâu",
  ]],
  ["/models", ["The list price is in USD.", "List (USD)"], [
    "Giá niêm yết tính bằng USD",
    "Niêm yết (USD)",
  ]],
  ["/models/premium-1", ["Capabilities"], [
    "Khả năng",
    "Endpoint",
  ]],
  ["/status", ["First token"], ["Token đầu tiên"]],
  ["/docs", ["every endpoint"], ["mọi endpoint"]],
  ["/connect", ["receipt under Requests"], ["biên nhận trong Lượt gọi"]],
];

const customerPages: readonly Page[] = [
  ["/search?q=zzzz", ["No results"], ["Không tìm thấy kết quả"]],
  ["/usage", ["Custom"], ["Tuỳ chọn"]],
  ["/keys/new", ["Read access by API", "Automatic (a key with limits reads only its own calls)"], [
    "Quyền đọc qua API",
    "Tự động (khoá có giới hạn chỉ xem lượt gọi của nó)",
  ]],
  ["/wallet", ["Low-balance email"], ["Thư báo số dư thấp"]],
  ["/invoices", ["Payments not yet invoiced"], ["Khoản nạp chưa xuất hoá đơn"]],
  ["/account", ["Email address", "issued invoices, with the buyer"], ["Địa chỉ email", "sổ cái"]],
];

const operatorPages: readonly Page[] = [
  ["/operator", ["Customer balances"], ["Số dư của khách hàng"]],
  ["/operator/claims", ["Claims"], ["Khiếu nại nhà cung cấp"]],
  ["/operator/approvals", ["No approvals waiting"], [
    "Yêu cầu vượt hạn mức của một người vận hành",
  ]],
  ["/operator/invoices", ["No invoice requests"], ["Không có yêu cầu hoá đơn"]],
  ["/operator/review", ["No bank notices"], ["Không có thông báo ngân hàng"]],
];

/** Reads a page. */
interface Looking {
  readonly get: (path: string) => Promise<{ readonly text: string }>;
}

async function look(
  browser: Looking,
  pages: readonly Page[],
  locale: "en" | "vi",
) {
  for (const [path, en, vi] of pages) {
    const { text } = await browser.get(path);
    const missing = (locale === "en" ? en : vi).filter((words) => !text.includes(words));
    assertEquals(missing, [], path);
  }
}

for (const locale of locales) {
  Deno.test(`pages use the words of the trade (${locale})`, async () => {
    await using world = await openDashboardWorld();
    const stranger = world.browser();
    stranger.cookies.set("locale", locale);
    await look(stranger, publicPages, locale);
    const { browser } = await world.signIn("ann@example.com");
    browser.cookies.set("locale", locale);
    await look(browser, customerPages, locale);
  });

  Deno.test(`operator pages use the words of the trade (${locale})`, () =>
    operatorWorld(async ({ operator }) => {
      await look(await operator("staff", locale), operatorPages, locale);
    }));
}

const again = { en: "You can request another in 15 minutes", vi: "yêu cầu lại sau 15 phút" };

for (const [locale, words] of Object.entries(again)) {
  Deno.test(`a sent mail can be requested again from the page that says so (${locale})`, async () => {
    await using world = await openDashboardWorld();
    await world.signIn("ann@example.com");
    const browser = world.browser();
    browser.cookies.set("locale", locale);
    for (const path of ["/forgot", "/sign-in/link"]) {
      const sent = await browser.submit(await browser.get(path), path, {
        email: "ann@example.com",
      });
      assertStringIncludes(sent.text, words);
      const repeated = await browser.submit(sent, path, { email: "ann@example.com" });
      assertEquals([repeated.status, repeated.text.includes(words)], [200, true], path);
    }
    const page = await browser.get("/sign-up");
    const form = { email: "eve@example.com", password: testPassword };
    const signUp = await browser.submit(page, "/sign-up", form);
    assertStringIncludes(signUp.text, words);
    assertStringIncludes(signUp.text, '<a href="/sign-up" class="button');
  });
}
