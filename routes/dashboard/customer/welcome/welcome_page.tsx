/**
 * `/welcome`: greets a new account with its first key in code that runs, and shows the first call when it arrives.
 *
 * - Folder `routes/dashboard/customer/welcome/`: the page between sign-up and the first call.
 * - In: the account of the visitor, its first key, its balance and its calls.
 * - Out: HTML.
 * - Never: creates a key: sign-up does (`routes/dashboard/customer/sign_in/start_session.ts`).
 */
import { type Context, Hono } from "hono";
import { returnPath } from "../../../../core/people/accounts/email_address.ts";
import { type FirstKey, readFirstKey } from "../../../../kv/people/api_keys/api_key_changes.ts";
import { Card, CopyButton, Notice } from "../../components/mod.ts";
import { keyPlaceholder, type RecipeFacts, snippets } from "../connect/recipes.ts";
import { RecipeList } from "../connect/connect.tsx";
import type { DashboardDeps } from "../../page/deps.ts";
import { formatMoneyShort } from "../../text/format.ts";
import { renderPage } from "../../frame/layout.tsx";
import { CodeTabs } from "../connect/code_tabs.tsx";
import { defineTexts, type Locale } from "../../text/i18n.ts";
import type { PageDeclaration } from "../../page/page.ts";
import { requireAccount } from "../../visitor/identify.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import type { ErrorCode } from "../../../../core/lib/errors/errors.ts";
import type { ApiKeyRecord } from "../../../../kv/people/api_keys/api_keys.ts";
import { type Call, errorOf, takeCalls } from "../../../usage_api/search/call_scan.ts";
import { CallTable } from "../usage/call_table.tsx";

// Texts of the page that greets a new account.

const welcomeTexts = defineTexts({
  both: {
    title: ["Your account is ready", "Tài khoản đã sẵn sàng"],
    key: ["Your first key", "Khoá API đầu tiên của bạn"],
    keyPage: ["Open the key", "Mở trang của khoá API"],
    topUp: ["Top up", "Nạp tiền"],
    code: ["Make your first call", "Thực hiện lượt gọi đầu tiên"],
    tools: ["Or set up the tool you use", "Hoặc cài đặt công cụ bạn đang dùng"],
    waiting: ["Waiting for your first call", "Đang đợi lượt gọi đầu tiên"],
    look: ["Look again", "Xem lại"],
    works: ["Your account works", "Tài khoản hoạt động tốt"],
    fails: ["One step is missing", "Còn thiếu một bước"],
    arrived: ["Your first call is here", "Lượt gọi đầu tiên đã đến"],
    failed: ["Your first call was refused", "Lượt gọi đầu tiên bị từ chối"],
    links: {
      topUp: ["Top up", "Nạp tiền"],
      keyLimit: ["Change the limit", "Đổi hạn mức"],
      budget: ["Open budgets", "Mở ngân sách"],
      keyRights: ["Change the key's rights", "Sửa quyền của khoá"],
      model: ["All models", "Mọi mô hình"],
      wait: ["Errors and retries", "Lỗi và thử lại"],
      provider: ["State of the service", "Tình trạng dịch vụ"],
      request: ["All errors", "Mọi lỗi"],
    },
    continue: ["Continue", "Tiếp tục"],
    playground: ["Try it without code", "Chạy thử không cần mã"],
  },
  en: {
    lead: "Run one of these, and the call appears below. The key is already in the code.",
    leadWithoutSecret: "Run one of these with your key, and the call appears below.",
    keyNote: (name: string) =>
      `“${name}” is shown here for ten minutes. Later you find it under API keys, where your password shows it again.`,
    keyLater: "The key is no longer shown here. Its page shows it again, with your password.",
    credit: (amount: string) => `You have ${amount} to try.`,
    empty: "Your wallet is empty. A call needs a balance.",
    waitingText: "This line turns into the call as soon as it arrives.",
    arrivedText: "Every call has a receipt with its tokens, price and time.",
    failedNote: "Run the code again afterwards; the call appears here.",
    fixes: {
      topUp: "The wallet cannot pay for this call.",
      keyLimit: "The spending limit of the key is reached.",
      budget: "A budget is used up.",
      keyRights: "The key may not be used for this call.",
      model: "The service has no such model, or it needs another endpoint.",
      wait: "A limit is reached, or running calls hold the balance. Wait a moment.",
      provider: "The provider of the model could not answer. The call was free.",
      request: "The request has a mistake:",
    },
  },
  vi: {
    lead: "Chạy một trong các đoạn mã này, lượt gọi sẽ hiện ở dưới. Khoá API đã có sẵn trong mã.",
    leadWithoutSecret:
      "Chạy một trong các đoạn mã này với khoá API của bạn, lượt gọi sẽ hiện ở dưới.",
    keyNote: (name) =>
      `“${name}” hiện ở đây trong mười phút. Sau đó bạn tìm thấy nó trong mục Khoá API, nơi mật khẩu cho xem lại.`,
    keyLater: "Khoá API không còn hiện ở đây. Trang của khoá cho xem lại khi bạn nhập mật khẩu.",
    credit: (amount) => `Bạn có ${amount} để dùng thử.`,
    empty: "Ví đang trống. Mỗi lượt gọi cần có số dư.",
    waitingText: "Dòng này sẽ thành lượt gọi ngay khi nó đến.",
    arrivedText: "Mỗi lượt gọi có biên nhận ghi token, giá và thời gian.",
    failedNote: "Sau đó hãy chạy lại đoạn mã; lượt gọi sẽ hiện ở đây.",
    fixes: {
      topUp: "Ví không đủ để trả cho lượt gọi này.",
      keyLimit: "Khoá API đã đến hạn mức chi.",
      budget: "Ngân sách đã dùng hết.",
      keyRights: "Khoá API không được dùng cho lượt gọi này.",
      model: "Không có mô hình này, hoặc mô hình cần địa chỉ khác.",
      wait: "Đã chạm giới hạn, hoặc số dư đang được giữ. Hãy đợi giây lát.",
      provider: "Nhà cung cấp của mô hình không trả lời được. Lượt gọi này không mất tiền.",
      request: "Yêu cầu không hợp lệ:",
    },
  },
});

// The place where the first call of a new account appears: it asks for it until the call is there.

/** Polling interval in seconds: a person who has just run the code sees the call at once. */
const lookEverySeconds = 2;

/** Looks of one page, ten minutes long: who has not called by then reads the page again. */
const maxLooks = 300;

/** Calls that are shown; the first tries of a developer are several, and a refusal is one of them. */
const shownCalls = 3;

/** Reads the newest calls of the account, refused ones too. */
async function latestCalls(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
): Promise<readonly Call[]> {
  const { account } = c.get("signedIn");
  const untilMs = deps.clock.nowMs() + 1;
  const filter = { accountId: account.id, fromMs: account.createdAtMs, untilMs };
  return (await takeCalls(deps.kv, filter, shownCalls)).calls;
}

/** Remedy of a person for a refused call. */
type Fix = keyof typeof welcomeTexts["en"]["fixes"];

const fixes: Readonly<Partial<Record<string, Fix>>> = {
  insufficient_balance: "topUp",
  spending_limit_reached: "keyLimit",
  budget_exceeded: "budget",
  permission_denied: "keyRights",
  model_not_found: "model",
  balance_on_hold: "wait",
  rate_limit_reached: "wait",
} satisfies Partial<Record<ErrorCode, Fix>>;

function fixOf(call: Call): Fix {
  if (call.kind === "receipt") return "provider";
  const { code, message } = call.refused;
  return fixes[code] ?? (message.startsWith("model:") ? "model" : "request");
}

function linkOf(fix: Fix, keyId: string): string {
  switch (fix) {
    case "topUp":
      return "/wallet";
    case "budget":
      return "/budgets";
    case "keyLimit":
    case "keyRights":
      return `/keys/${keyId}`;
    case "model":
      return "/models";
    case "provider":
      return "/status";
    case "wait":
    case "request":
      return "/docs/errors";
  }
}

function FixNotice({ call, locale }: { call: Call; locale: Locale }) {
  const t = welcomeTexts[locale];
  const fix = fixOf(call);
  const { keyId } = call.kind === "receipt" ? call.receipt : call.refused;
  const names = fix === "request" || fix === "model";
  return (
    <Notice tone="warning">
      {t.fixes[fix]} {names && call.kind === "refused" && <code>{call.refused.message}</code>}{" "}
      <a href={linkOf(fix, keyId)}>{t.links[fix]}</a>
    </Notice>
  );
}

/** The heading of the page, by the outcome of the first call; `undefined` before there is one. */
function outcomeTitle(calls: readonly Call[], locale: Locale): string | undefined {
  if (calls.length === 0) return undefined;
  const t = welcomeTexts[locale];
  return hasWorked(calls) ? t.works : t.fails;
}

function hasWorked(calls: readonly Call[]): boolean {
  return calls.some((call) => errorOf(call) === undefined);
}

/** Shows the first calls, or that they are waited for. */
function FirstCall({ calls, keys, locale, looks }: {
  calls: readonly Call[];
  keys: readonly ApiKeyRecord[];
  locale: Locale;
  /** Number of times that this page has looked before. */
  looks: number;
}) {
  const t = welcomeTexts[locale];
  const [latest] = calls;
  const isOver = hasWorked(calls) || looks >= maxLooks;
  const looking = isOver ? {} : {
    "hx-get": `/welcome/call?looks=${looks + 1}`,
    "hx-trigger": `load delay:${lookEverySeconds}s`,
    "hx-swap": "outerHTML",
  };
  const table = (
    <CallTable
      calls={calls}
      refunds={new Map()}
      keyNames={new Map(keys.map((key) => [key.id, key.name]))}
      locale={locale}
    />
  );
  if (latest === undefined) {
    return (
      <div id="first-call" {...looking}>
        <Card title={t.waiting}>
          <p class="muted">
            {!isOver && <span class="pulse" aria-hidden="true"></span>} {t.waitingText}{" "}
            <a href="/welcome">{t.look}</a>
          </p>
        </Card>
      </div>
    );
  }
  if (hasWorked(calls)) {
    return (
      <div id="first-call" role="status">
        <Card title={t.arrived}>
          <p class="muted">{t.arrivedText}</p>
          {table}
        </Card>
      </div>
    );
  }
  return (
    <div id="first-call" role="status" {...looking}>
      <Card title={t.failed}>
        <FixNotice call={latest} locale={locale} />
        <p class="muted">{t.failedNote}</p>
        {table}
      </Card>
    </div>
  );
}

/** The key, while it is shown, and what there is to spend. */
function KeyCard({ firstKey: { record, secret }, balanceMicroVnd, locale }: {
  firstKey: FirstKey;
  balanceMicroVnd: bigint;
  locale: Locale;
}) {
  const t = welcomeTexts[locale];
  const page = <a href={`/keys/${record.id}`}>{t.keyPage}</a>;
  return (
    <Card title={t.key}>
      {balanceMicroVnd > 0n
        ? <Notice tone="success">{t.credit(formatMoneyShort(balanceMicroVnd, locale))}</Notice>
        : (
          <Notice tone="warning">
            {t.empty} <a href="/wallet">{t.topUp}</a>
          </Notice>
        )}
      {secret === undefined ? <p class="muted">{t.keyLater} {page}</p> : (
        <>
          <div class="secret-row">
            <code class="secret" id="secret">{secret}</code>
            <CopyButton text={secret} what={t.key} locale={locale} />
          </div>
          <p class="muted">{t.keyNote(record.name)} {page}</p>
        </>
      )}
    </Card>
  );
}

function FirstCode({ facts, locale }: { facts: RecipeFacts; locale: Locale }) {
  const t = welcomeTexts[locale];
  const tabs = snippets(facts.baseUrl, facts.model).chat
    .map(({ name, code }) => ({ name, code: code.replaceAll(keyPlaceholder, facts.key) }));
  return (
    <Card title={t.code}>
      <CodeTabs tabs={tabs} label={t.code} locale={locale} />
    </Card>
  );
}

async function welcomePage(c: Context<DashboardEnv>, deps: DashboardDeps) {
  const { locale } = c.get("visitor");
  const { account } = c.get("signedIn");
  const t = welcomeTexts[locale];
  const next = returnPath(c.req.query("next"), "/");
  const { kv, masterKeys, clock, wallet, baseUrl, catalog } = deps;
  const firstKey = await readFirstKey(kv, masterKeys, account.id, clock.nowMs());
  if (firstKey === undefined) return c.redirect(next, 303);
  const { totalMicroVnd } = await wallet.balance(account.id);
  const { record, secret } = firstKey;
  const facts = { baseUrl, model: catalog.defaultModel.id, key: secret ?? keyPlaceholder };
  const calls = await latestCalls(c, deps);
  return await renderPage(
    c,
    {
      title: outcomeTitle(calls, locale) ?? t.title,
      lead: secret === undefined ? t.leadWithoutSecret : t.lead,
      styles: ["public.css"],
      actions: (
        <>
          <a href="/playground" class="button outline secondary">{t.playground}</a>
          <a href={next} class="button">{t.continue}</a>
        </>
      ),
    },
    <>
      <KeyCard firstKey={firstKey} balanceMicroVnd={totalMicroVnd} locale={locale} />
      <FirstCode facts={facts} locale={locale} />
      <FirstCall calls={calls} keys={[record]} locale={locale} looks={0} />
      <Card title={t.tools}>
        <RecipeList facts={facts} locale={locale} />
      </Card>
    </>,
  );
}

/** The part of the page that looks for the first call. */
async function callFragment(c: Context<DashboardEnv>, deps: DashboardDeps) {
  const { kv, masterKeys, clock } = deps;
  const { account } = c.get("signedIn");
  const firstKey = await readFirstKey(kv, masterKeys, account.id, clock.nowMs());
  const { locale } = c.get("visitor");
  const calls = await latestCalls(c, deps);
  const asked = Number(c.req.query("looks"));
  const title = outcomeTitle(calls, locale);
  return await c.html(
    <>
      <FirstCall
        calls={calls}
        keys={firstKey === undefined ? [] : [firstKey.record]}
        locale={locale}
        looks={Number.isSafeInteger(asked) ? asked : 0}
      />
      {title !== undefined && <h1 id="page-title" hx-swap-oob="true">{title}</h1>}
    </>,
  );
}

function createWelcomePage(deps: DashboardDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .use("/welcome/*", requireAccount)
    .get("/welcome", (c) => welcomePage(c, deps))
    .get("/welcome/call", (c) => callFragment(c, deps));
}

export const welcomePages: PageDeclaration<DashboardDeps> = { routes: createWelcomePage };
