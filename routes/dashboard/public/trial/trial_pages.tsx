/**
 * `/try`: a visitor without an account asks a chat model, and sees the answer with the receipt of the call.
 *
 * - Folder `routes/dashboard/public/trial/`: trying models before there is an account.
 * - In: one question of a visitor; the bounds and the account that the operator has set.
 * - Out: HTML, or the answer of the API as it arrives.
 * - Never: keeps a question or an answer, sends anything but text, or shows a receipt of another call.
 */
import { type Context, Hono } from "hono";
import type { Child } from "hono/jsx";
import { z } from "zod";
import { answerHeaders } from "../../../http/own_headers.ts";
import {
  Card,
  CsrfField,
  Icon,
  Notice,
  SelectField,
  SubmitButton,
  TextField,
} from "../../components/mod.ts";
import { type PlaygroundModel, playgroundModels } from "../../customer/playground/models.ts";
import { ReceiptCard } from "../../customer/usage/receipt_card.tsx";
import { notFoundPage } from "../../frame/error_pages.tsx";
import { renderPage } from "../../frame/layout.tsx";
import type { DashboardDeps, TrialDeps } from "../../page/deps.ts";
import { readForm } from "../../page/form_data.ts";
import type { PageDeclaration } from "../../page/page.ts";
import type { DashboardEnv, Visitor } from "../../page/visitor.ts";
import { type TrialProblem, trialTexts } from "./texts.ts";
import {
  askAsVisitor,
  maxTrialOutputTokens,
  maxTrialPromptChars,
  readTrialReceipt,
} from "./trial_call.ts";

const chatAnswer = z.object({
  choices: z.array(z.object({ message: z.object({ content: z.string().nullish() }) })).min(1),
});
const errorAnswer = z.object({
  error: z.object({ type: z.string(), code: z.string().nullish() }),
});

/** Meaning of each error of the API to a visitor, by its code, else by its type; all others: it failed. */
const problemsByError: Readonly<Record<string, TrialProblem>> = {
  spending_limit_reached: "day_used_up",
  budget_exceeded: "day_used_up",
  insufficient_balance: "unavailable",
  balance_on_hold: "busy",
  authentication_error: "unavailable",
  permission_error: "unavailable",
  service_unavailable: "unavailable",
  rate_limit_error: "busy",
  overloaded_error: "busy",
  content_policy_violation: "refused",
};

/** The statuses with which a problem is answered. */
const problemStatuses = {
  no_prompt: 422,
  long_prompt: 422,
  no_model: 422,
  address_used_up: 429,
  day_used_up: 429,
  unavailable: 503,
  busy: 429,
  refused: 422,
  failed: 502,
} as const satisfies Record<TrialProblem, number>;

async function problemOf(answer: Response): Promise<TrialProblem> {
  const read = errorAnswer.safeParse(await answer.json().catch(() => undefined));
  if (!read.success) return "failed";
  const { code, type } = read.data.error;
  return problemsByError[code ?? ""] ?? problemsByError[type] ?? "failed";
}

/** The words of a problem; an account solves most of them. */
function ProblemNotice({ problem, trial, visitor: { locale } }: {
  problem: TrialProblem;
  trial: TrialDeps;
  visitor: Visitor;
}) {
  const t = trialTexts[locale];
  const words = {
    ...t.refusals,
    long_prompt: t.refusals.long_prompt(maxTrialPromptChars),
    address_used_up: t.refusals.address_used_up(trial.callsPerAddress),
  };
  const isOver = problemStatuses[problem] === 429 || problem === "unavailable";
  return (
    <>
      <Notice tone={isOver ? "warning" : "danger"}>{words[problem]}</Notice>
      {isOver && <a class="button" href="/sign-up">{t.signUp}</a>}
    </>
  );
}

async function TrialReceipt({ deps, trial, requestId, visitor }: {
  deps: DashboardDeps;
  trial: TrialDeps;
  requestId: string;
  visitor: Visitor;
}) {
  const receipt = await readTrialReceipt(deps, trial, requestId);
  if (receipt === undefined) return null;
  const t = trialTexts[visitor.locale];
  return (
    <>
      <h3>{t.receipt}</h3>
      <ReceiptCard
        receipt={receipt}
        refund={undefined}
        modelName={deps.catalog.find(receipt.model)?.displayName}
        keyName={t.keyName}
        visitor={visitor}
      />
    </>
  );
}

/** Question that has passed the form, or what is wrong with it. */
type Asked = { readonly model: PlaygroundModel; readonly prompt: string } | TrialProblem;

function chatModels({ catalog }: DashboardDeps, { locale }: Visitor): PlaygroundModel[] {
  return playgroundModels(catalog, locale).filter(({ kind }) => kind === "chat");
}

async function readQuestion(c: Context<DashboardEnv>, deps: DashboardDeps): Promise<Asked> {
  const form = await readForm(c);
  const prompt = form.text("prompt");
  const id = form.text("model");
  const model = chatModels(deps, c.get("visitor")).find((one) => one.id === id);
  if (model === undefined) return "no_model";
  if (prompt === "") return "no_prompt";
  // Browsers count line breaks as one character, and send two.
  return [...prompt.replaceAll("\r\n", "\n")].length > maxTrialPromptChars
    ? "long_prompt"
    : { model, prompt };
}

async function ask(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  trial: TrialDeps,
  isStreamed: boolean,
): Promise<TrialProblem | { readonly model: PlaygroundModel; readonly answer: Response }> {
  const asked = await readQuestion(c, deps);
  if (typeof asked === "string") return asked;
  const { model, prompt } = asked;
  const question = { model: model.id, maxOutput: model.maxOutput, prompt, isStreamed };
  const answer = await askAsVisitor(c, deps, trial, question);
  if (typeof answer === "string") return answer;
  return answer.ok ? { model, answer } : await problemOf(answer);
}

/** The answer of a browser without script, or what is shown in its place. */
async function plainAnswer(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  trial: TrialDeps,
): Promise<{ readonly status: 200 | typeof problemStatuses[TrialProblem]; readonly shown: Child }> {
  const visitor = c.get("visitor");
  const t = trialTexts[visitor.locale];
  const asked = await ask(c, deps, trial, false);
  if (typeof asked === "string") {
    return {
      status: problemStatuses[asked],
      shown: <ProblemNotice problem={asked} trial={trial} visitor={visitor} />,
    };
  }
  const { model, answer } = asked;
  const read = chatAnswer.safeParse(await answer.json().catch(() => undefined));
  const text = read.success ? read.data.choices[0]?.message.content : undefined;
  const requestId = answer.headers.get(answerHeaders.requestId) ?? "";
  return {
    status: 200,
    shown: (
      <>
        <h3>{t.answerOf(model.name)}</h3>
        <p class="plain-text">{text ?? t.noText}</p>
        {await TrialReceipt({ deps, trial, requestId, visitor })}
      </>
    ),
  };
}

function Question({ models, chosen, prompt, visitor }: {
  models: readonly PlaygroundModel[];
  chosen: string | undefined;
  prompt: string;
  visitor: Visitor;
}) {
  const t = trialTexts[visitor.locale];
  return (
    <Card>
      <form method="post" action="/try" id="trial">
        <CsrfField visitor={visitor} />
        <SelectField
          name="model"
          label={t.model}
          value={chosen}
          options={models.map(({ id, name }) => ({ value: id, label: name }))}
        />
        <TextField
          name="prompt"
          label={t.prompt}
          rows={4}
          required
          value={prompt}
          maxlength={maxTrialPromptChars}
          hint={t.bounds(maxTrialPromptChars, maxTrialOutputTokens)}
        />
        <SubmitButton>{t.ask}</SubmitButton>
      </form>
    </Card>
  );
}

async function trialPage(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  trial: TrialDeps,
  asked: { readonly model?: string | undefined; readonly prompt?: string } = {},
  answer?: Awaited<ReturnType<typeof plainAnswer>>,
): Promise<Response> {
  const visitor = c.get("visitor");
  const t = trialTexts[visitor.locale];
  const models = chatModels(deps, visitor);
  const chosen = models.find(({ id }) => id === asked.model) ??
    models.find(({ id }) => id === deps.catalog.defaultModel.id);
  const forScript = { asking: t.asking, answerOf: t.answerOf("{model}"), noText: t.noText };
  return await renderPage(
    c,
    {
      title: t.title,
      lead: trial.isPlay ? t.leadPlay : t.lead,
      scripts: ["trial.js"],
      styles: ["public.css"],
      status: answer?.status ?? 200,
    },
    <>
      <div class="columns">
        <Question
          models={models}
          chosen={chosen?.id}
          prompt={asked.prompt ?? t.example}
          visitor={visitor}
        />
        <Card title={t.answer}>
          <div
            id="trial-answer"
            aria-live="polite"
            data-words={JSON.stringify({ ...forScript, broken: t.broken })}
          >
            {answer?.shown ?? <p class="muted">{t.empty}</p>}
          </div>
        </Card>
      </div>
      <div class="columns">
        <Card title={t.rules}>
          <ul class="checks">
            {[t.ruleCalls(trial.callsPerAddress), t.ruleStored, t.ruleSame].map((rule) => (
              <li>
                <Icon name="check" />
                <span>{rule}</span>
              </li>
            ))}
          </ul>
        </Card>
        <Card title={t.next}>
          <p>{t.nextText}</p>
          <div class="actions">
            <a class="button" href="/sign-up">{t.signUp}</a>
            <a class="button outline secondary" href="/docs">{t.code}</a>
          </div>
        </Card>
      </div>
    </>,
  );
}

/** Answers the script: the stream of the API, or what is shown in its place. */
async function streamedAnswer(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  trial: TrialDeps,
): Promise<Response> {
  const asked = await ask(c, deps, trial, true);
  if (typeof asked === "string") {
    return await c.html(
      <ProblemNotice problem={asked} trial={trial} visitor={c.get("visitor")} />,
      problemStatuses[asked],
    );
  }
  const { answer } = asked;
  return new Response(answer.body, {
    headers: {
      "content-type": answer.headers.get("content-type") ?? "text/event-stream",
      "cache-control": "no-store, no-transform",
      "x-accel-buffering": "no",
      [answerHeaders.requestId]: answer.headers.get(answerHeaders.requestId) ?? "",
    },
  });
}

function createTrialPages(deps: DashboardDeps): Hono<DashboardEnv> {
  const { trial } = deps;
  const app = new Hono<DashboardEnv>();
  if (trial === undefined) return app;
  // Who has an account has the playground.
  app.use("/try/*", async (c, next) => {
    const model = c.req.query("model");
    const query = model === undefined ? "" : `?${new URLSearchParams({ model })}`;
    return c.get("visitor").signedIn === undefined
      ? await next()
      : c.redirect(`/playground${query}`, 303);
  });
  return app
    .get("/try", (c) => trialPage(c, deps, trial, { model: c.req.query("model") }))
    .post("/try", async (c) => {
      const form = await readForm(c);
      const asked = {
        model: form.text("model"),
        prompt: form.text("prompt").slice(0, maxTrialPromptChars),
      };
      return await trialPage(c, deps, trial, asked, await plainAnswer(c, deps, trial));
    })
    .post("/try/stream", (c) => streamedAnswer(c, deps, trial))
    .get("/try/receipts/:id", async (c) => {
      const visitor = c.get("visitor");
      const requestId = c.req.param("id");
      const card = await TrialReceipt({ deps, trial, requestId, visitor });
      return card === null ? await notFoundPage(c) : await c.html(card);
    });
}

/** Its address is in no list of search engines: it has no description. */
export const trialPages: PageDeclaration<DashboardDeps> = {
  isPublicForm: true,
  routes: createTrialPages,
};
