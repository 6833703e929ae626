/**
 * `/webhooks`: adds, lists, shows, changes, tests, rotates and deletes endpoints, and shows the log of deliveries.
 *
 * - Folder `routes/dashboard/customer/webhooks/`: the pages of webhooks.
 * - In: forms of a signed-in customer.
 * - Out: HTML, and acts of `routes/hooks/webhook_operations.ts`.
 * - Never: reads or writes a row itself, or shows a secret a second time.
 */
import { type Context, Hono } from "hono";
import { parseId } from "../../../../core/lib/ids/ids.ts";
import { webhookKinds } from "../../../../core/people/webhooks/events.ts";
import {
  maxWebhookEndpoints,
  type NewWebhookSecret,
  type WebhookEndpoint,
} from "../../../../kv/people/webhooks/endpoints.ts";
import {
  addWebhook,
  deleteWebhook,
  editWebhook,
  listWebhooks,
  listWebhookTries,
  readWebhook,
  readWebhookTry,
  resendWebhook,
  rotateWebhookSecret,
  testWebhook,
  type WebhookAct,
  type WebhookDeps,
  type WebhookRefusal,
} from "../../../hooks/webhook_operations.ts";
import {
  Card,
  CopyButton,
  FormIdField,
  Icon,
  Notice,
  PostForm,
  SelectField,
  SubmitButton,
  Time,
} from "../../components/mod.ts";
import { notFoundPage } from "../../frame/error_pages.tsx";
import { renderPage } from "../../frame/layout.tsx";
import type { DashboardDeps } from "../../page/deps.ts";
import { readForm } from "../../page/form_data.ts";
import type { PageDeclaration } from "../../page/page.ts";
import type { DashboardEnv, Visitor } from "../../page/visitor.ts";
import { doneBy } from "../../visitor/doer.ts";
import { requireAccount } from "../../visitor/identify.ts";
import type { Locale } from "../../text/i18n.ts";
import { webhookTexts } from "./texts.ts";
import {
  emptyEndpointForm,
  EndpointFields,
  type EndpointFormErrors,
  endpointFormOf,
  type EndpointFormValues,
  formErrors,
  postedEndpoint,
  urlError,
} from "./webhook_form.tsx";
import {
  EndpointList,
  endpointName,
  EndpointState,
  QueueNotice,
  TryLog,
  TryView,
  VerifyCard,
} from "./webhook_views.tsx";

type PageContext = Context<DashboardEnv>;

function depsOf({ kv, masterKeys, webhooks }: DashboardDeps): WebhookDeps {
  return { kv, masterKeys, ...webhooks };
}

function actOf(c: PageContext, { clock }: DashboardDeps): WebhookAct {
  return { accountId: c.get("signedIn").account.id, ...doneBy(c, clock.nowMs()) };
}

/** Says why nothing was done, but for what a field says. */
function refusalWords(why: WebhookRefusal, locale: Locale): string {
  const t = webhookTexts[locale];
  if (typeof why !== "string") {
    return "url" in why ? t.urlProblems[why.url] : t.tooMany(why.retryAfterSeconds);
  }
  switch (why) {
    case "full":
      return t.full(maxWebhookEndpoints);
    case "sent":
      return t.sentBefore;
    case "forgotten":
      return t.forgotten;
    case "missing":
    case "conflict":
      return t.busy;
  }
}

async function listPage(c: PageContext, deps: DashboardDeps, problem?: string) {
  const { locale } = c.get("visitor");
  const t = webhookTexts[locale];
  const listed = await listWebhooks.run(depsOf(deps), actOf(c, deps), {});
  return await renderPage(
    c,
    {
      title: t.title,
      lead: t.lead,
      status: problem === undefined ? 200 : 422,
      styles: ["public.css"],
      actions: (
        <a class="button" href="/webhooks/new">
          <Icon name="plus" /> {t.add}
        </a>
      ),
    },
    <>
      {problem !== undefined && <Notice tone="danger">{problem}</Notice>}
      <EndpointList listed={listed.ok ? listed.body : []} locale={locale} />
      <VerifyCard locale={locale} />
    </>,
  );
}

interface NewEndpointState {
  readonly values: EndpointFormValues;
  readonly errors: EndpointFormErrors;
  readonly problem?: string;
}

function newPage(c: PageContext, state?: NewEndpointState) {
  const visitor = c.get("visitor");
  const t = webhookTexts[visitor.locale];
  return renderPage(
    c,
    { title: t.newTitle, status: state === undefined ? 200 : 422 },
    <Card>
      {state?.problem !== undefined && <Notice tone="warning">{state.problem}</Notice>}
      <PostForm visitor={visitor} action="/webhooks">
        <FormIdField />
        <EndpointFields
          values={state?.values ?? emptyEndpointForm}
          errors={state?.errors ?? {}}
          locale={visitor.locale}
        />
        <div class="actions">
          <SubmitButton>{t.addButton}</SubmitButton>
          <a href="/webhooks">{t.cancel}</a>
        </div>
      </PostForm>
    </Card>,
  );
}

/** Shows a new secret, this once. */
function secretPage(c: PageContext, { endpoint, secret }: NewWebhookSecret) {
  const { locale } = c.get("visitor");
  const t = webhookTexts[locale];
  return renderPage(
    c,
    { title: t.secretTitle, lead: endpointName(endpoint), styles: ["public.css"] },
    <>
      <Card>
        <Notice tone="success">{t.secretShown}</Notice>
        <code class="secret">{secret}</code>
        <div class="actions">
          <CopyButton text={secret} what={t.secretOf} locale={locale} />
          <a href={`/webhooks/${endpoint.id}`}>{t.toEndpoint}</a>
        </div>
      </Card>
      <VerifyCard locale={locale} />
    </>,
  );
}

async function createEndpoint(c: PageContext, deps: DashboardDeps) {
  const { locale } = c.get("visitor");
  const posted = await readForm(c);
  const values = postedEndpoint(posted);
  const formId = posted.formId();
  const t = webhookTexts[locale];
  if (formId === undefined) return await newPage(c, { values, errors: {}, problem: t.formStale });
  const input = addWebhook.input.safeParse({ ...values, formId });
  if (!input.success) {
    return await newPage(c, { values, errors: formErrors(input.error.issues, locale) });
  }
  const added = await addWebhook.run(depsOf(deps), actOf(c, deps), input.data);
  if (added.ok) return await secretPage(c, added.body);
  const errors = urlError(added.why, locale);
  return errors === undefined
    ? await listPage(c, deps, refusalWords(added.why, locale))
    : await newPage(c, { values, errors });
}

/** The outcome of the act before the page is shown. */
interface DetailState {
  readonly form?:
    | { readonly values: EndpointFormValues; readonly errors: EndpointFormErrors }
    | undefined;
  readonly problem?: string;
  readonly isSaved?: boolean;
}

interface PartProps {
  readonly visitor: Visitor;
  readonly endpoint: WebhookEndpoint;
}

function Settings({ visitor, endpoint, form }: PartProps & Pick<DetailState, "form">) {
  const t = webhookTexts[visitor.locale];
  return (
    <Card title={t.settings}>
      <PostForm visitor={visitor} action={`/webhooks/${endpoint.id}`}>
        <EndpointFields
          values={form?.values ?? endpointFormOf(endpoint)}
          errors={form?.errors ?? {}}
          locale={visitor.locale}
        />
        <SubmitButton>{t.save}</SubmitButton>
      </PostForm>
    </Card>
  );
}

function SendTest({ visitor, endpoint }: PartProps) {
  const t = webhookTexts[visitor.locale];
  return (
    <Card title={t.test}>
      <p class="muted">{t.testText}</p>
      <PostForm visitor={visitor} action={`/webhooks/${endpoint.id}/test`} class="inline-form">
        <SelectField
          name="kind"
          label={t.testKind}
          value={endpoint.kinds[0]}
          options={webhookKinds.map((kind) => ({ value: kind, label: kind }))}
        />
        <SubmitButton tone="plain">{t.testButton}</SubmitButton>
      </PostForm>
    </Card>
  );
}

function Switch({ visitor, endpoint }: PartProps) {
  const t = webhookTexts[visitor.locale];
  const word = endpoint.isOn ? t.switchOff : t.switchOn;
  return (
    <Card title={word}>
      <p class="muted">{t.switchOffText}</p>
      <PostForm visitor={visitor} action={`/webhooks/${endpoint.id}/switch`}>
        <SubmitButton tone="plain" name="on" value={endpoint.isOn ? "no" : "yes"}>
          {word}
        </SubmitButton>
      </PostForm>
    </Card>
  );
}

function Rotate({ visitor, endpoint, nowMs }: PartProps & { readonly nowMs: number }) {
  const t = webhookTexts[visitor.locale];
  const { graceUntilMs = 0 } = endpoint;
  return (
    <Card title={t.rotate}>
      <p class="muted">{t.rotateText}</p>
      {graceUntilMs > nowMs && (
        <p>
          {t.graceUntil} <Time atMs={graceUntilMs} locale={visitor.locale} />
        </p>
      )}
      <PostForm
        visitor={visitor}
        action={`/webhooks/${endpoint.id}/rotate`}
        confirm={t.rotateConfirm}
      >
        <FormIdField />
        <SubmitButton tone="plain">{t.rotateButton}</SubmitButton>
      </PostForm>
    </Card>
  );
}

function Remove({ visitor, endpoint }: PartProps) {
  const t = webhookTexts[visitor.locale];
  return (
    <Card title={t.remove}>
      <p class="muted">{t.removeText}</p>
      <PostForm
        visitor={visitor}
        action={`/webhooks/${endpoint.id}/delete`}
        confirm={t.removeConfirm}
      >
        <SubmitButton tone="danger">{t.removeButton}</SubmitButton>
      </PostForm>
    </Card>
  );
}

async function detailPage(
  c: PageContext,
  deps: DashboardDeps,
  endpoint: WebhookEndpoint,
  state: DetailState = {},
) {
  const visitor = c.get("visitor");
  const { locale } = visitor;
  const t = webhookTexts[locale];
  const asked = Number(c.req.query("before"));
  const before = Number.isSafeInteger(asked) && asked > 0 ? asked : undefined;
  const act = actOf(c, deps);
  const input = listWebhookTries.input.parse({ endpoint: endpoint.id, before });
  const log = await listWebhookTries.run(depsOf(deps), act, input);
  const page = log.ok ? log.body : { tries: [], hasMore: false };
  const isRefused = state.form !== undefined || state.problem !== undefined;
  const read = await readWebhook.run(depsOf(deps), act, { endpoint: endpoint.id });
  const part = { visitor, endpoint };
  const { switchedOff } = endpoint;
  return await renderPage(
    c,
    {
      title: endpointName(endpoint),
      lead: (
        <>
          {endpoint.url} <EndpointState endpoint={endpoint} locale={locale} />
        </>
      ),
      status: isRefused ? 422 : 200,
    },
    <>
      {state.problem !== undefined && <Notice tone="danger">{state.problem}</Notice>}
      {state.isSaved === true && <Notice tone="success">{t.saved}</Notice>}
      {c.req.query("done") === "queued" && <Notice tone="info">{t.queued}</Notice>}
      {switchedOff !== undefined && (
        <Notice tone="warning">
          {t.switchedOff[switchedOff.why]} (<Time atMs={switchedOff.atMs} locale={locale} />)
        </Notice>
      )}
      {read.ok && <QueueNotice {...read.body} locale={locale} />}
      <TryLog endpoint={endpoint} page={page} isNewest={before === undefined} locale={locale} />
      <SendTest {...part} />
      <Settings {...part} form={state.form} />
      <div class="columns">
        <Switch {...part} />
        <Rotate {...part} nowMs={act.nowMs} />
      </div>
      <Remove {...part} />
      <p>
        <a href="/webhooks">← {t.back}</a>
      </p>
    </>,
  );
}

type EndpointAction = (
  c: PageContext,
  deps: DashboardDeps,
  endpoint: WebhookEndpoint,
) => Response | Promise<Response>;

const saveEndpoint: EndpointAction = async (c, deps, endpoint) => {
  const { locale } = c.get("visitor");
  const values = postedEndpoint(await readForm(c));
  const input = editWebhook.input.safeParse({ ...values, endpoint: endpoint.id });
  if (!input.success) {
    const errors = formErrors(input.error.issues, locale);
    return await detailPage(c, deps, endpoint, { form: { values, errors } });
  }
  const edited = await editWebhook.run(depsOf(deps), actOf(c, deps), input.data);
  if (edited.ok) return await detailPage(c, deps, edited.body, { isSaved: true });
  const errors = urlError(edited.why, locale);
  return errors === undefined
    ? await detailPage(c, deps, endpoint, { problem: refusalWords(edited.why, locale) })
    : await detailPage(c, deps, endpoint, { form: { values, errors } });
};

const switchEndpoint: EndpointAction = async (c, deps, endpoint) => {
  const isOn = (await readForm(c)).text("on") === "yes";
  const input = { endpoint: endpoint.id, isOn };
  const edited = await editWebhook.run(depsOf(deps), actOf(c, deps), input);
  if (edited.ok) return c.redirect(`/webhooks/${endpoint.id}`, 303);
  const problem = refusalWords(edited.why, c.get("visitor").locale);
  return await detailPage(c, deps, endpoint, { problem });
};

const rotateSecret: EndpointAction = async (c, deps, endpoint) => {
  const { locale } = c.get("visitor");
  const formId = (await readForm(c)).formId();
  if (formId === undefined) {
    return await detailPage(c, deps, endpoint, { problem: webhookTexts[locale].formStale });
  }
  const input = { endpoint: endpoint.id, formId };
  const rotated = await rotateWebhookSecret.run(depsOf(deps), actOf(c, deps), input);
  return rotated.ok
    ? await secretPage(c, rotated.body)
    : await detailPage(c, deps, endpoint, { problem: refusalWords(rotated.why, locale) });
};

const removeEndpoint: EndpointAction = async (c, deps, endpoint) => {
  const input = { endpoint: endpoint.id };
  const deleted = await deleteWebhook.run(depsOf(deps), actOf(c, deps), input);
  if (deleted.ok) return c.redirect("/webhooks", 303);
  return await listPage(c, deps, refusalWords(deleted.why, c.get("visitor").locale));
};

const sendTestEvent: EndpointAction = async (c, deps, endpoint) => {
  const kind = (await readForm(c)).text("kind");
  const input = testWebhook.input.safeParse({ endpoint: endpoint.id, kind });
  if (!input.success) return c.redirect(`/webhooks/${endpoint.id}`, 303);
  const sent = await testWebhook.run(depsOf(deps), actOf(c, deps), input.data);
  if (sent.ok) return c.redirect(`/webhooks/${endpoint.id}?done=queued`, 303);
  const problem = refusalWords(sent.why, c.get("visitor").locale);
  return await detailPage(c, deps, endpoint, { problem });
};

/** Reads the number of a try from the path. */
function numberOf(c: PageContext): number {
  const text = c.req.param("number") ?? "";
  return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : 0;
}

const showTry: EndpointAction = async (c, deps, endpoint) => {
  const input = { endpoint: endpoint.id, number: numberOf(c) };
  const found = await readWebhookTry.run(depsOf(deps), actOf(c, deps), input);
  if (!found.ok) return await notFoundPage(c);
  const visitor = c.get("visitor");
  const t = webhookTexts[visitor.locale];
  return await renderPage(
    c,
    { title: t.tryTitle, lead: <code>{found.body.type}</code> },
    <TryView endpoint={endpoint} one={found.body} visitor={visitor} />,
  );
};

const sendTryAgain: EndpointAction = async (c, deps, endpoint) => {
  const input = { endpoint: endpoint.id, number: numberOf(c) };
  const sent = await resendWebhook.run(depsOf(deps), actOf(c, deps), input);
  if (sent.ok) return c.redirect(`/webhooks/${endpoint.id}?done=queued`, 303);
  const problem = refusalWords(sent.why, c.get("visitor").locale);
  return await detailPage(c, deps, endpoint, { problem });
};

/** Runs an act on an endpoint of the signed-in account; those of others do not exist for it. */
function onEndpoint(deps: DashboardDeps, action: EndpointAction) {
  return async (c: PageContext) => {
    const id = parseId("webhookEndpoint", c.req.param("id") ?? "");
    const found = id && await readWebhook.run(depsOf(deps), actOf(c, deps), { endpoint: id });
    return found?.ok === true ? await action(c, deps, found.body.endpoint) : await notFoundPage(c);
  };
}

function createWebhookPages(deps: DashboardDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .use("/webhooks/*", requireAccount)
    .get("/webhooks", (c) => listPage(c, deps))
    .post("/webhooks", (c) => createEndpoint(c, deps))
    .get("/webhooks/new", (c) => newPage(c))
    .get("/webhooks/:id", onEndpoint(deps, detailPage))
    .post("/webhooks/:id", onEndpoint(deps, saveEndpoint))
    .post("/webhooks/:id/switch", onEndpoint(deps, switchEndpoint))
    .post("/webhooks/:id/rotate", onEndpoint(deps, rotateSecret))
    .post("/webhooks/:id/delete", onEndpoint(deps, removeEndpoint))
    .post("/webhooks/:id/test", onEndpoint(deps, sendTestEvent))
    .get("/webhooks/:id/deliveries/:number", onEndpoint(deps, showTry))
    .post("/webhooks/:id/deliveries/:number/again", onEndpoint(deps, sendTryAgain));
}

export const webhookPages: PageDeclaration<DashboardDeps> = {
  navigation: {
    href: "/webhooks",
    icon: "webhook",
    group: "manage",
    label: { en: "Webhooks", vi: "Webhook" },
  },
  routes: createWebhookPages,
};
