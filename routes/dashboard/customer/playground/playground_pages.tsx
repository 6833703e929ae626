/**
 * `/playground`: talks to chat models, makes pictures, speech and video. Calls go through the API with one of the
 * account's own keys, which never reaches the browser.
 *
 * - Folder `routes/dashboard/customer/playground/`: the page that tries models.
 * - In: requests of the API as the page writes them, and the choice of a key.
 * - Out: HTML, and the answers of the API as they arrive.
 * - Never: sends an API key to the browser, or keeps a prompt or an answer.
 */
import { type Context, Hono } from "hono";
import {
  type ApiKeyRecord,
  isActive,
  listApiKeys,
} from "../../../../kv/people/api_keys/api_keys.ts";
import { Empty, Fact, Notice } from "../../components/mod.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { readForm } from "../../page/form_data.ts";
import { renderPage } from "../../frame/layout.tsx";
import type { PageDeclaration } from "../../page/page.ts";
import { requireAccount } from "../../visitor/identify.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import {
  type CallSummary,
  type PlaygroundModel,
  playgroundModels,
  readCallSummary,
  requestOfForm,
} from "./models.ts";
import { PlaygroundForm } from "./page.tsx";
import { keyHeader, relay, relayedPaths, sendWithKey } from "./relay.ts";
import { type PlaygroundTexts, playgroundTexts } from "./texts.ts";
import type { Child } from "hono/jsx";
import { z } from "zod";
import { answerHeaders } from "../../../http/own_headers.ts";
import type { Locale } from "../../text/i18n.ts";

// One turn of the playground without script: the form is posted, and the page comes back with the answer.

const chatAnswer = z.object({
  choices: z.array(z.object({ message: z.object({ content: z.string().nullish() }) })).min(1),
});
const imageAnswer = z.object({
  data: z.array(z.object({ b64_json: z.string().optional(), url: z.string().optional() })),
});
const videoAnswer = z.object({ id: z.string() });
const errorAnswer = z.object({
  error: z.object({
    type: z.string(),
    code: z.string().nullish(),
    message: z.string().optional(),
  }),
});

/** Text of the playground about an error, in the page's language: by its code, else by its type. */
function problemText({ problems }: PlaygroundTexts, answer: unknown): string {
  const parsed = errorAnswer.safeParse(answer);
  if (!parsed.success) return problems.api_error;
  const { type, code, message = "" } = parsed.data.error;
  const named = new Map(Object.entries(problems));
  const text = named.get(code ?? "") ?? named.get(type) ?? problems.api_error;
  return type === "invalid_request_error" ? `${text} ${message}` : text;
}

/** Shows the body of an answer, whatever the kind of the model. */
function answerBody(
  model: PlaygroundModel,
  answer: unknown,
  { keyId, locale }: { readonly keyId: string; readonly locale: Locale },
): Child {
  const t = playgroundTexts[locale];
  const chat = chatAnswer.safeParse(answer);
  if (model.kind === "chat" && chat.success) {
    return <div class="plain-text">{chat.data.choices[0]?.message.content ?? t.script.empty}</div>;
  }
  const images = imageAnswer.safeParse(answer);
  if (model.kind === "image" && images.success) {
    return images.data.data.map(({ b64_json: base64, url }, at) =>
      base64 === undefined
        ? <a key={at} href={url} rel="noopener noreferrer">{url}</a>
        : <img key={at} src={`data:image/png;base64,${base64}`} alt={model.name} />
    );
  }
  const video = videoAnswer.safeParse(answer);
  if (model.kind === "video" && video.success) {
    const id = encodeURIComponent(video.data.id);
    const file = `/playground/api/v1/videos/${id}/content?${new URLSearchParams({ keyId })}`;
    return (
      <p>
        {t.videoQueued} <a href={file}>{t.videoFile}</a>
      </p>
    );
  }
  return <Notice tone="danger">{t.problems.api_error}</Notice>;
}

function Figures({ summary, locale }: { summary: CallSummary; locale: Locale }) {
  const t = playgroundTexts[locale];
  return (
    <dl class="facts">
      <Fact name={t.cost}>
        {summary.cost} <a href={summary.receipt}>{t.receipt}</a>
      </Fact>
    </dl>
  );
}

/** The answer to a posted form: what the page shows, or a file. */
export type PlainTurn =
  | { readonly kind: "shown"; readonly status: 200 | 422; readonly content: Child }
  | { readonly kind: "file"; readonly response: Response };

/** Makes the call of a posted form. */
async function plainTurn(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  model: PlaygroundModel,
): Promise<PlainTurn> {
  const { locale } = c.get("visitor");
  const t = playgroundTexts[locale];
  const form = await readForm(c);
  const keyId = form.text("keyId");
  const { path, body } = requestOfForm(form, model);
  const call = { method: "POST", path, keyId, body: JSON.stringify(body) } as const;
  const answer = await sendWithKey(c, deps, call);
  if (answer === undefined) {
    return {
      kind: "shown",
      status: 422,
      content: <Notice tone="danger">{t.problems.authentication_error}</Notice>,
    };
  }
  if (answer.ok && model.kind === "speech") {
    const type = answer.headers.get("content-type") ?? "audio/mpeg";
    return {
      kind: "file",
      response: new Response(answer.body, { headers: { "content-type": type } }),
    };
  }
  const read: unknown = await answer.json().catch(() => undefined);
  if (!answer.ok) {
    return {
      kind: "shown",
      status: 422,
      content: <Notice tone="danger">{problemText(t, read)}</Notice>,
    };
  }
  const requestId = answer.headers.get(answerHeaders.requestId) ?? "";
  const summary = await readCallSummary(c, deps, requestId);
  return {
    kind: "shown",
    status: 200,
    content: (
      <>
        <div class="said">{form.text("prompt")}</div>
        <section class="reply" aria-label={t.answerOf(model.name)}>
          <h2>{model.name}</h2>
          {answerBody(model, read, { keyId, locale })}
          {summary !== undefined && <Figures summary={summary} locale={locale} />}
        </section>
      </>
    ),
  };
}

async function usableKeys(c: Context<DashboardEnv>, deps: DashboardDeps): Promise<ApiKeyRecord[]> {
  const nowMs = deps.clock.nowMs();
  const keys = await listApiKeys(deps.kv, c.get("signedIn").account.id);
  return keys.filter((key) => key.sealed !== undefined && isActive(key, nowMs));
}

/** The model that was asked for, else the default one. */
function chosenModel(
  models: readonly PlaygroundModel[],
  id: string | undefined,
  { catalog }: DashboardDeps,
): PlaygroundModel | undefined {
  return models.find((model) => model.id === id) ??
    models.find((model) => model.id === catalog.defaultModel.id) ?? models[0];
}

async function playgroundPage(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  asked: string | undefined,
  turn?: PlainTurn & { readonly kind: "shown" },
) {
  const visitor = c.get("visitor");
  const t = playgroundTexts[visitor.locale];
  const keys = await usableKeys(c, deps);
  const models = playgroundModels(deps.catalog, visitor.locale);
  const model = chosenModel(models, asked, deps);
  const options = {
    title: t.title,
    lead: t.lead,
    status: turn?.status ?? 200,
    scripts: ["playground.js"],
    styles: ["playground.css"],
  } as const;
  if (keys.length === 0 || model === undefined) {
    return await renderPage(
      c,
      options,
      <Empty title={t.noKey}>
        <p>{t.noKeyHint}</p>
        <a class="button" href="/keys/new">{t.makeKey}</a>
      </Empty>,
    );
  }
  return await renderPage(
    c,
    options,
    <PlaygroundForm
      visitor={visitor}
      baseUrl={deps.baseUrl}
      models={models}
      keys={keys}
      model={model}
      answer={turn?.content}
    />,
  );
}

/** Answers the form of a browser without script. */
async function postForm(c: Context<DashboardEnv>, deps: DashboardDeps): Promise<Response> {
  const asked = (await readForm(c)).text("model");
  const models = playgroundModels(deps.catalog, c.get("visitor").locale);
  const model = chosenModel(models, asked, deps);
  if (model === undefined) return c.redirect("/playground", 303);
  const turn = await plainTurn(c, deps, model);
  return turn.kind === "file" ? turn.response : await playgroundPage(c, deps, model.id, turn);
}

/** Registers the endpoints of the API that the page's script calls. */
function relays(deps: DashboardDeps): Hono<DashboardEnv> {
  const app = new Hono<DashboardEnv>();
  for (const path of relayedPaths) {
    app.post(`/playground/api${path}`, async (c) => {
      const keyId = c.req.header(keyHeader) ?? "";
      return await relay(c, deps, { method: "POST", path, keyId, body: await c.req.arrayBuffer() });
    });
  }
  // A player cannot send headers of its own, so here the key is named in the query.
  const videoOf = (file: "" | "/content") => async (c: Context<DashboardEnv>) => {
    const path = `/v1/videos/${encodeURIComponent(c.req.param("id") ?? "")}${file}`;
    return await relay(c, deps, { method: "GET", path, keyId: c.req.query("keyId") ?? "" });
  };
  return app
    .get("/playground/api/v1/videos/:id", videoOf(""))
    .get("/playground/api/v1/videos/:id/content", videoOf("/content"));
}

function createPlayground(deps: DashboardDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .use("/playground/*", requireAccount)
    .get("/playground", (c) => playgroundPage(c, deps, c.req.query("model")))
    .post("/playground", (c) => postForm(c, deps))
    .get("/playground/calls/:id", async (c) => {
      const summary = await readCallSummary(c, deps, c.req.param("id"));
      return summary === undefined ? c.json({}, 404) : c.json(summary);
    })
    .route("/", relays(deps));
}

export const playgroundPages: PageDeclaration<DashboardDeps> = {
  navigation: {
    href: "/playground",
    icon: "playground",
    group: "build",
    label: { en: "Playground", vi: "Chạy thử" },
  },
  routes: createPlayground,
};
