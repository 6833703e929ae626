/** One turn of the playground without script: the form is posted, and the page comes back with the answer. */
import type { Context } from "hono";
import type { Child } from "hono/jsx";
import { z } from "zod";
import { answerHeaders } from "../../../http/own_headers.ts";
import { Fact, Notice } from "../../components/mod.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { readForm } from "../../page/form_data.ts";
import type { Locale } from "../../text/i18n.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import { type CallSummary, readCallSummary } from "./call_summary.ts";
import { requestOfForm } from "./form_request.ts";
import type { PlaygroundModel } from "./models.ts";
import { sendWithKey } from "./relay.ts";
import { type PlaygroundTexts, playgroundTexts } from "./texts.ts";

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

/** What the playground says about an error, in the page's language: by its code, else by its type. */
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
export async function plainTurn(
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
