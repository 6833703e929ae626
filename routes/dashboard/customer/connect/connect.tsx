/**
 * `/connect`: code snippets, each with the base address that its kind of client needs.
 *
 * - Folder `routes/dashboard/customer/connect/`: the page with code to copy for each kind of client.
 * - In: the public address of the gateway and its models.
 * - Out: HTML with snippets.
 * - Never: reads the store, so no key of the account is in a snippet.
 */
import { type Context, Hono } from "hono";
import { Card, CodeBlock, CopyRow } from "../../components/mod.ts";
import { keyPlaceholder, type RecipeFacts, recipes, sdkRecipes, snippets } from "./recipes.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { defineTexts, type Locale } from "../../text/i18n.ts";
import { renderPage } from "../../frame/layout.tsx";
import { mayVisit } from "../../page/page_acts.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import type { PageDeclaration } from "../../page/page.ts";

// A field whose key appears in all snippets of the page. It works in the browser alone: the key is sent nowhere.

const keyFillerTexts = defineTexts({
  en: {
    label: "Fill in your key",
    hint: "Paste it here and the snippets have it. It stays in this page and is sent nowhere.",
  },
  vi: {
    label: "Điền khoá API của bạn",
    hint: "Dán vào đây, các đoạn mã sẽ có sẵn. Khoá chỉ ở trong trang này, không gửi đi đâu.",
  },
});

/** The field; hidden until the script that it needs shows it. */
function KeyFiller({ locale }: { locale: Locale }) {
  const t = keyFillerTexts[locale];
  return (
    <div class="key-filler" data-key-filler={keyPlaceholder} hidden>
      <label for="fill-key">{t.label}</label>
      <input
        id="fill-key"
        type="password"
        placeholder="sk-…"
        autocomplete="off"
        spellcheck={false}
        aria-describedby="fill-key-hint"
      />
      <small id="fill-key-hint">{t.hint}</small>
    </div>
  );
}

// Recipes as a list that opens one at a time, which needs no script.

/** The recipes of all tools, after those of SDKs if they are asked for; the first is open. */
export function RecipeList({ facts, withSdks, locale }: {
  facts: RecipeFacts;
  withSdks?: boolean;
  locale: Locale;
}) {
  const list = [...withSdks === true ? sdkRecipes(facts) : [], ...recipes(facts)];
  return (
    <div class="recipes">
      {list.map(({ name, text, code }, index) => (
        <details name="recipe" open={index === 0}>
          <summary>{name}</summary>
          <p class="muted">{text[locale]}</p>
          {code.map((part) => (
            <div class="snippet">
              <h3>{part.name}</h3>
              <CodeBlock
                code={part.code}
                name={part.name}
                what={`${name}: ${part.name}`}
                locale={locale}
              />
            </div>
          ))}
        </details>
      ))}
    </div>
  );
}

const texts = defineTexts({
  both: {
    title: ["Connect", "Kết nối"],
    addresses: ["Base addresses", "Địa chỉ gốc"],
    messages: ["Messages-style SDKs and tools", "SDK và công cụ kiểu Messages"],
    chat: ["Chat-Completions-style SDKs and tools", "SDK và công cụ kiểu Chat Completions"],
    makeKey: ["Create a key", "Tạo khoá API"],
    messagesTitle: ["Messages style", "Kiểu Messages"],
    chatTitle: ["Chat Completions style", "Kiểu Chat Completions"],
    toolsTitle: ["Coding agents and other tools", "Trợ lý lập trình và công cụ khác"],
    good: ["Good to know", "Nên biết"],
  },
  en: {
    lead: "Keep your SDK. Change the base address and the key, nothing else.",
    why:
      "The first adds /v1/messages itself; the second wants /v1 in the base. A wrong choice gets a 404: then add or remove /v1.",
    keyHint: "Put your key where the snippets say YOUR_KEY, best through an environment variable.",
    toolsText: "Most tools ask for a base address and a key.",
    description:
      "Base addresses and code for SDKs, Claude Code, Codex, opencode, Cursor, n8n and other tools.",
    facts: [
      "Any chat model works through either style; tools, images and streaming are converted.",
      "Stream long answers. A call may take 15 minutes at most.",
      "Every answer has an x-request-id: with it you find the receipt under Requests.",
    ],
  },
  vi: {
    lead: "Giữ nguyên SDK. Chỉ đổi địa chỉ gốc và khoá API.",
    why:
      "Loại đầu tự thêm /v1/messages; loại sau cần /v1 trong địa chỉ gốc. Chọn sai sẽ nhận 404: khi đó hãy thêm hoặc bỏ /v1.",
    keyHint: "Thay YOUR_KEY bằng khoá API của bạn, tốt nhất là qua biến môi trường.",
    toolsText: "Hầu hết công cụ hỏi địa chỉ gốc và khoá API.",
    description:
      "Địa chỉ gốc và đoạn mã cho SDK, Claude Code, Codex, opencode, Cursor, n8n và công cụ khác.",
    facts: [
      "Mô hình hội thoại nào cũng gọi được qua cả hai kiểu; công cụ, hình ảnh và streaming được chuyển đổi.",
      "Câu trả lời dài nên dùng streaming. Một lượt gọi kéo dài tối đa 15 phút.",
      "Mỗi câu trả lời có x-request-id: dùng mã này để tìm biên nhận trong Lượt gọi.",
    ],
  },
});

function SnippetCard({ title, list, locale }: {
  title: string;
  list: readonly { readonly name: string; readonly code: string }[];
  locale: Locale;
}) {
  return (
    <Card title={title}>
      {list.map(({ name, code }) => (
        <div class="snippet">
          <h3>{name}</h3>
          <CodeBlock code={code} name={name} what={`${title}: ${name}`} locale={locale} />
        </div>
      ))}
    </Card>
  );
}

function factItem(fact: string) {
  return <li>{fact}</li>;
}

function renderConnectPage(c: Context<DashboardEnv>, deps: DashboardDeps) {
  const { locale } = c.get("visitor");
  const t = texts[locale];
  const facts = { baseUrl: deps.baseUrl, model: deps.catalog.defaultModel.id };
  const lists = snippets(facts.baseUrl, facts.model);
  return renderPage(
    c,
    { title: t.title, lead: t.lead, description: t.description, scripts: ["connect.js"] },
    <>
      <Card title={t.addresses}>
        <CopyRow label={t.messages} value={deps.baseUrl} locale={locale} />
        <CopyRow label={t.chat} value={`${deps.baseUrl}/v1`} locale={locale} />
        <p class="muted">{t.why}</p>
        {mayVisit(c.get("visitor").signedIn, "/keys/new") && (
          <p>
            {t.keyHint} <a href="/keys/new">{t.makeKey}</a>
          </p>
        )}
        <KeyFiller locale={locale} />
      </Card>
      <div class="columns">
        <SnippetCard title={t.messagesTitle} list={lists.messages} locale={locale} />
        <SnippetCard title={t.chatTitle} list={lists.chat} locale={locale} />
      </div>
      <Card title={t.toolsTitle}>
        <p>{t.toolsText}</p>
        <RecipeList facts={{ ...facts, key: keyPlaceholder }} locale={locale} />
      </Card>
      <Card title={t.good}>
        <ul>{t.facts.map(factItem)}</ul>
      </Card>
    </>,
  );
}

function createConnectPage(deps: DashboardDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>().get("/connect", (c) => renderConnectPage(c, deps));
}

export const connectPage: PageDeclaration<DashboardDeps> = {
  isShared: true,
  navigation: {
    href: "/connect",
    icon: "connect",
    group: "build",
    label: { en: "Connect", vi: "Kết nối" },
    publicLink: { label: { en: "Connect", vi: "Kết nối" }, wideOnly: true },
  },
  routes: createConnectPage,
};
