/**
 * `/playground`: sends a prompt to a model, streams the answer, links its receipt. The call goes through the API with
 * one of the account's own keys, which never reaches the browser.
 *
 * - Folder `routes/dashboard/playground/`: the page that asks a model.
 * - In: a prompt and the choice of a key.
 * - Out: HTML and the stream of the answer.
 * - Never: sends an API key to the browser.
 */
import { answerHeaders } from "../../http/own_headers.ts";
import { type Context, Hono } from "hono";
import { z } from "zod";
import { parseId } from "../../../core/lib/ids.ts";
import {
  type ApiKeyRecord,
  getApiKey,
  isActive,
  listApiKeys,
  revealApiKey,
} from "../../../kv/api_keys/api_keys.ts";
import { Card, Empty, SelectField, TextField } from "../components/mod.ts";
import type { DashboardDeps } from "../deps.ts";
import { defineTexts } from "../i18n.ts";
import { requireAccount } from "../visitor/identify.ts";
import { clientAddress } from "../sign_in/start_session.ts";
import { renderPage } from "../frame/layout.tsx";
import type { DashboardEnv } from "../visitor/visitor.ts";
import type { PageDeclaration } from "../page.ts";

const texts = defineTexts({
  en: {
    title: "Playground",
    lead: "A real call, paid from your wallet. Nothing you type is stored.",
    model: "Model",
    key: "Paid by key",
    prompt: "Your message",
    promptHint: "Ctrl + Enter sends.",
    send: "Send",
    stop: "Stop",
    answer: "Answer",
    waiting: "The answer appears here.",
    receipt: "Receipt",
    failed: "The call failed",
    signedOut: "You are signed out. Load this page again to sign in.",
    problems: {
      insufficient_balance: "Your wallet cannot pay for this call.",
      rate_limit_error: "A rate limit is reached: yours, or the provider's. Try again in a moment.",
      service_unavailable: "The service is under maintenance. Try again later.",
      authentication_error: "The chosen key is no longer valid. Load this page again.",
      permission_error: "The chosen key may not use this model.",
      request_too_large: "Your message is too long for this model.",
      timeout_error: "The provider of this model did not answer in time. Try again.",
      overloaded_error: "The provider of this model is overloaded. Try again in a moment.",
      api_error: "The provider of this model could not answer. Try again, or choose another model.",
    },
    topUp: "Top up",
    noKey: "You need a key first",
    noKeyHint: "Calls are counted per key, including calls from this page.",
    makeKey: "Create a key",
    needsScript: "The playground needs JavaScript.",
  },
  vi: {
    title: "Chạy thử",
    lead: "Lượt gọi thật, trả từ ví của bạn. Những gì bạn gõ không được lưu.",
    model: "Mô hình",
    key: "Tính cho khoá API",
    prompt: "Lời nhắn của bạn",
    promptHint: "Ctrl + Enter để gửi.",
    send: "Gửi",
    stop: "Dừng",
    answer: "Câu trả lời",
    waiting: "Câu trả lời hiện ở đây.",
    receipt: "Biên nhận",
    failed: "Lượt gọi không thành công",
    signedOut: "Bạn đã đăng xuất. Hãy tải lại trang này để đăng nhập.",
    problems: {
      insufficient_balance: "Ví của bạn không đủ để trả cho lượt gọi này.",
      rate_limit_error:
        "Đã chạm giới hạn tốc độ của bạn hoặc của nhà cung cấp. Hãy thử lại sau giây lát.",
      service_unavailable: "Dịch vụ đang bảo trì. Hãy thử lại sau.",
      authentication_error: "Khoá API đã chọn không còn hiệu lực. Hãy tải lại trang này.",
      permission_error: "Khoá API đã chọn không được dùng mô hình này.",
      request_too_large: "Lời nhắn của bạn quá dài đối với mô hình này.",
      timeout_error: "Nhà cung cấp của mô hình này không trả lời kịp. Hãy thử lại.",
      overloaded_error: "Nhà cung cấp của mô hình này đang quá tải. Hãy thử lại sau giây lát.",
      api_error:
        "Nhà cung cấp của mô hình này không trả lời được. Hãy thử lại hoặc chọn mô hình khác.",
    },
    topUp: "Nạp tiền",
    noKey: "Bạn cần một khoá API trước",
    noKeyHint: "Lượt gọi được tính theo khoá API, kể cả từ đây.",
    makeKey: "Tạo khoá API",
    needsScript: "Trang chạy thử cần JavaScript.",
  },
});

/** Bounds of a prompt and an answer: enough to try a model; programs use the API. */
const longestPromptChars = 20_000;
const mostOutputTokens = 2_048;

const runBody = z.object({
  keyId: z.string(),
  model: z.string().max(256),
  prompt: z.string().min(1).max(longestPromptChars),
});

async function usableKeys(c: Context<DashboardEnv>, deps: DashboardDeps): Promise<ApiKeyRecord[]> {
  const nowMs = deps.clock.nowMs();
  const keys = await listApiKeys(deps.kv, c.get("signedIn").account.id);
  return keys.filter((key) => key.sealed !== undefined && isActive(key, nowMs));
}

async function renderPlaygroundPage(c: Context<DashboardEnv>, deps: DashboardDeps) {
  const { locale } = c.get("visitor");
  const t = texts[locale];
  const keys = await usableKeys(c, deps);
  const options = {
    title: t.title,
    lead: t.lead,
    scripts: ["playground.js"],
  } as const;
  if (keys.length === 0) {
    return await renderPage(
      c,
      options,
      <Empty title={t.noKey}>
        <p>{t.noKeyHint}</p>
        <a class="button" href="/keys/new">{t.makeKey}</a>
      </Empty>,
    );
  }
  const chatModels = deps.catalog.models.filter((model) => model.kind === "chat");
  return await renderPage(
    c,
    options,
    <>
      <noscript>{t.needsScript}</noscript>
      <Card>
        <form
          id="playground"
          data-failed={t.failed}
          data-signed-out={t.signedOut}
          data-problems={JSON.stringify(t.problems)}
          data-top-up={t.topUp}
        >
          <div class="fields">
            <SelectField
              name="model"
              label={t.model}
              value={c.req.query("model") ?? deps.catalog.defaultModel.id}
              options={chatModels.map(({ id }) => ({ value: id, label: id }))}
            />
            <SelectField
              name="keyId"
              label={t.key}
              options={keys.map((key) => ({ value: key.id, label: key.name }))}
            />
          </div>
          <TextField
            name="prompt"
            label={t.prompt}
            rows={4}
            required
            maxlength={longestPromptChars}
            hint={t.promptHint}
          />
          <div class="actions">
            <button type="submit" id="playground-send">{t.send}</button>
            <button type="button" id="playground-stop" class="outline secondary" hidden>
              {t.stop}
            </button>
          </div>
        </form>
      </Card>
      <Card title={t.answer}>
        <div id="playground-answer" class="answer muted" aria-live="polite" aria-busy="false">
          {t.waiting}
        </div>
      </Card>
      <section class="card" id="playground-receipt" aria-label={t.receipt} hidden></section>
    </>,
  );
}

/** Runs one call with a key of the account and streams the answer. */
async function run(c: Context<DashboardEnv>, deps: DashboardDeps): Promise<Response> {
  const body = runBody.safeParse(await c.req.json().catch(() => undefined));
  const keyId = body.success ? parseId("apiKey", body.data.keyId) : undefined;
  if (!body.success || keyId === undefined) return c.json({ error: "bad request" }, 400);
  const record = await getApiKey(deps.kv, c.get("signedIn").account.id, keyId);
  const secret = record === undefined ? undefined : await revealApiKey(deps.masterKeys, record);
  if (secret === undefined) return c.json({ error: "no such key" }, 404);
  const { model, prompt } = body.data;
  const request = new Request(`${deps.baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: JSON.stringify({
      model,
      stream: true,
      max_tokens: mostOutputTokens,
      messages: [{ role: "user", content: prompt }],
    }),
    signal: c.req.raw.signal,
  });
  const answer = await deps.dispatch(request, clientAddress(c));
  const headers = new Headers({
    "content-type": answer.headers.get("content-type") ?? "application/json",
    "cache-control": "no-store, no-transform",
    "x-accel-buffering": "no",
  });
  const requestId = answer.headers.get(answerHeaders.requestId);
  if (requestId !== null) headers.set(answerHeaders.requestId, requestId);
  return new Response(answer.body, { status: answer.status, headers });
}

function createPlayground(deps: DashboardDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .use("/playground/*", requireAccount)
    .get("/playground", (c) => renderPlaygroundPage(c, deps))
    .post("/playground/run", (c) => run(c, deps));
}

export const playgroundPage: PageDeclaration<DashboardDeps> = {
  navigation: {
    href: "/playground",
    icon: "playground",
    label: { en: "Playground", vi: "Chạy thử" },
  },
  routes: createPlayground,
};
