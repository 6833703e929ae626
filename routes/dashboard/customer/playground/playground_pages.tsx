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
import {
  CsrfField,
  Empty,
  Fact,
  Icon,
  Notice,
  SelectField,
  TextField,
} from "../../components/mod.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { readForm } from "../../page/form_data.ts";
import { renderPage } from "../../frame/layout.tsx";
import type { PageDeclaration } from "../../page/page.ts";
import { requireAccount } from "../../visitor/identify.ts";
import type { DashboardEnv, Visitor } from "../../page/visitor.ts";
import {
  type CallSummary,
  imageSizes,
  maxPromptChars,
  playgroundKinds,
  type PlaygroundModel,
  playgroundModels,
  readCallSummary,
  requestOfForm,
  speechFormats,
  usualOutputTokens,
  voices,
} from "./models.ts";
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

// The markup of the playground: the conversation with its composer, and the settings beside it.

/** Parts of the page. */
interface PlaygroundProps {
  readonly visitor: Visitor;
  readonly baseUrl: string;
  readonly models: readonly PlaygroundModel[];
  readonly keys: readonly ApiKeyRecord[];
  /** The chosen model. */
  readonly model: PlaygroundModel;
  /** The answer of a browser without script. */
  readonly answer?: Child;
}

function options(texts: readonly string[]) {
  return texts.map((value) => ({ value, label: value }));
}

/** The models as groups by kind. */
function ModelField({ models, model, locale }: {
  models: readonly PlaygroundModel[];
  model: PlaygroundModel;
  locale: Locale;
}) {
  const t = playgroundTexts[locale];
  return (
    <div class="field">
      <label for="model">{t.model}</label>
      <select id="model" name="model">
        {playgroundKinds.map((kind) => {
          const ofKind = models.filter((one) => one.kind === kind);
          return ofKind.length > 0 && (
            <optgroup label={t.kinds[kind]} data-of={kind}>
              {ofKind.map(({ id, name }) => (
                <option value={id} selected={id === model.id}>{name}</option>
              ))}
            </optgroup>
          );
        })}
      </select>
      <small class="price-note">{model.price}</small>
    </div>
  );
}

/** The settings of chat models. */
function ChatFields({ models, locale }: { models: readonly PlaygroundModel[]; locale: Locale }) {
  const t = playgroundTexts[locale];
  const efforts = [...new Set(models.flatMap(({ efforts }) => efforts))];
  return (
    <fieldset data-kind="chat">
      <TextField name="system" label={t.system} rows={3} maxlength={maxPromptChars} />
      <div class="field-pair">
        <TextField
          name="temperature"
          label={t.temperature}
          type="number"
          min="0"
          step="0.1"
          inputmode="decimal"
        />
        <TextField
          name="max_tokens"
          label={t.maxTokens}
          type="number"
          min="1"
          step="1"
          inputmode="numeric"
          value={String(usualOutputTokens)}
        />
      </div>
      {efforts.length > 0 && (
        <SelectField
          name="effort"
          label={t.effort}
          isCode
          options={[{ value: "", label: t.effortOwn }, ...options(efforts)]}
        />
      )}
      <div class="needs-script">
        <TextField name="tools" label={t.tools} rows={3} hint={t.toolsHint} />
      </div>
    </fieldset>
  );
}

/** The settings of the other kinds. */
function MediaFields({ models, locale }: { models: readonly PlaygroundModel[]; locale: Locale }) {
  const t = playgroundTexts[locale];
  const videos = models.filter(({ kind }) => kind === "video");
  const seconds = [...new Set(videos.flatMap(({ seconds }) => seconds))].sort((a, b) => a - b);
  const sizes = [...new Set(videos.flatMap(({ sizes }) => sizes))];
  return (
    <>
      <fieldset data-kind="image">
        <div class="field-pair">
          <SelectField name="image_size" label={t.size} options={options(imageSizes)} />
          <SelectField name="n" label={t.count} options={options(["1", "2", "3", "4"])} />
        </div>
      </fieldset>
      <fieldset data-kind="speech">
        <div class="field-pair">
          <SelectField name="voice" label={t.voice} options={options(voices)} />
          <SelectField name="format" label={t.format} options={options(speechFormats)} />
        </div>
      </fieldset>
      {videos.length > 0 && (
        <fieldset data-kind="video">
          <div class="field-pair">
            <SelectField name="seconds" label={t.seconds} options={options(seconds.map(String))} />
            <SelectField name="video_size" label={t.size} options={options(sizes)} />
          </div>
        </fieldset>
      )}
    </>
  );
}

function Settings({ visitor, models, model, keys }: PlaygroundProps) {
  const { locale } = visitor;
  const t = playgroundTexts[locale];
  const chat = models.filter(({ kind }) => kind === "chat");
  return (
    <details class="card playground-settings" open>
      <summary>{t.settings}</summary>
      <ModelField models={models} model={model} locale={locale} />
      <div class="needs-script" data-kind="chat">
        <SelectField
          name="compare"
          label={t.compare}
          options={[
            { value: "", label: t.compareNone },
            ...chat.map(({ id, name }) => ({ value: id, label: name })),
          ]}
        />
      </div>
      <SelectField
        name="keyId"
        label={t.key}
        options={keys.map((key) => ({ value: key.id, label: key.name }))}
      />
      <ChatFields models={chat} locale={locale} />
      <MediaFields models={models} locale={locale} />
    </details>
  );
}

/** Form in which messages are written. */
function Composer({ locale }: { locale: Locale }) {
  const t = playgroundTexts[locale];
  return (
    <div class="composer">
      <div id="playground-pictures" class="thumbs" hidden></div>
      <label for="prompt" class="visually-hidden">{t.prompt}</label>
      <textarea
        id="prompt"
        name="prompt"
        rows={3}
        required
        maxlength={maxPromptChars}
        placeholder={t.prompt}
        aria-describedby="playground-price"
      >
      </textarea>
      <div class="composer-row">
        <input type="file" id="playground-file" accept="image/*" multiple hidden />
        <button
          type="button"
          id="playground-attach"
          class="outline secondary small needs-script"
          aria-label={t.attach}
          title={t.attach}
        >
          <Icon name="plus" />
        </button>
        <span id="playground-price" class="muted" role="status">{t.promptHint}</span>
        <button
          type="button"
          id="playground-code"
          class="outline secondary small needs-script"
        >
          {t.code}
        </button>
        <button type="button" id="playground-stop" class="outline secondary small" hidden>
          {t.stop}
        </button>
        <button type="submit" id="playground-send" class="small">{t.send}</button>
      </div>
    </div>
  );
}

/** The playground. Its form works without script for one turn; the script makes a conversation of it. */
function PlaygroundForm(props: PlaygroundProps) {
  const { visitor, baseUrl, models, answer } = props;
  const t = playgroundTexts[visitor.locale];
  const forScript = {
    baseUrl,
    keyHeader,
    locale: visitor.locale,
    models,
    texts: t.script,
    problems: t.problems,
    actions: t.actions,
  };
  return (
    <form
      method="post"
      action="/playground"
      id="playground"
      class="playground"
      data-playground={JSON.stringify(forScript)}
      data-clear={t.clear}
    >
      <CsrfField visitor={visitor} />
      <section class="card talk" aria-label={t.conversation}>
        <div id="playground-turns" class="turns" role="log" aria-busy="false">
          {answer ?? (
            <div class="talk-start">
              <Icon name="playground" />
              <p class="empty-title">{t.start}</p>
              <p>{t.startText}</p>
            </div>
          )}
        </div>
        <Composer locale={visitor.locale} />
      </section>
      <Settings {...props} />
    </form>
  );
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
