/**
 * `/webhooks`: adds, lists, shows, changes, tests, rotates and deletes endpoints, and shows the log of deliveries.
 *
 * - Folder `routes/dashboard/customer/webhooks/`: the pages of webhooks.
 * - In: forms of a signed-in customer.
 * - Out: HTML, and acts of `routes/acts/webhooks.ts`.
 * - Never: changes a row itself, or shows a secret a second time.
 */
import { type Context, Hono } from "hono";
import { z } from "zod";
import { parseId } from "../../../../core/lib/ids/ids.ts";
import {
  type DestinationKind,
  destinationKinds,
} from "../../../../core/people/webhooks/destinations.ts";
import { webhookKinds } from "../../../../core/people/webhooks/events.ts";
import {
  getTry,
  listTries,
  readConditions,
  type TryPage,
  type WebhookTry,
} from "../../../../kv/people/webhooks/deliveries.ts";
import {
  getEndpoint,
  listEndpoints,
  type NewWebhookSecret,
  type WebhookEndpoint,
} from "../../../../kv/people/webhooks/endpoints.ts";
import { type CommonRefusal, type Operation, type Refused } from "../../../acts/operation.ts";
import type { ActName } from "../../../acts/spending.ts";
import {
  tryNumber,
  webhookChange,
  webhookCreation,
  webhookDeletion,
  type WebhookRefusal,
  webhookResending,
  webhookRotation,
  webhookTest,
} from "../../../acts/webhooks.ts";
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
import { notAllowedPage, notFoundPage } from "../../frame/error_pages.tsx";
import { renderPage } from "../../frame/layout.tsx";
import type { DashboardDeps } from "../../page/deps.ts";
import { type PostedForm, readForm } from "../../page/form_data.ts";
import type { PageDeclaration } from "../../page/page.ts";
import type { DashboardEnv, Visitor } from "../../page/visitor.ts";
import type { Locale } from "../../text/i18n.ts";
import { performForm } from "../../visitor/acting.ts";
import { requireAccount } from "../../visitor/identify.ts";
import { webhookTexts } from "./texts.ts";
import {
  emptyEndpointForm,
  EndpointAddress,
  EndpointFields,
  endpointFormOf,
  type EndpointFormValues,
  EndpointList,
  endpointName,
  EndpointState,
  postedEndpoint,
  QueueNotice,
  type RefusedForm,
  refusedForm,
  sentEndpoint,
  SentEvent,
  TryLog,
  TryView,
  VerifyCard,
} from "./webhook_views.tsx";

type PageContext = Context<DashboardEnv>;

/** Tries on one page of the log. */
const triesPerPage = 25;

async function listPage(c: PageContext, deps: DashboardDeps) {
  const { locale } = c.get("visitor");
  const t = webhookTexts[locale];
  const { id } = c.get("signedIn").account;
  const listed = await readConditions(deps.kv, id, await listEndpoints(deps.kv, id));
  return await renderPage(
    c,
    {
      title: t.title,
      lead: t.lead,
      styles: ["public.css"],
      actions: (
        <a class="button" href="/webhooks/new">
          <Icon name="plus" /> {t.add}
        </a>
      ),
    },
    <>
      <EndpointList listed={listed} locale={locale} />
      <VerifyCard locale={locale} />
    </>,
  );
}

interface FormState extends RefusedForm {
  readonly values: EndpointFormValues;
  readonly destination: DestinationKind;
}

const destinationParameter = z.enum(destinationKinds).catch("webhook");

/** The choice of the destination: each has a form of its own. */
function Destinations({ chosen, locale }: {
  readonly chosen: DestinationKind;
  readonly locale: Locale;
}) {
  const t = webhookTexts[locale];
  return (
    <nav class="chips" aria-label={t.destination}>
      {destinationKinds.map((kind) => (
        <a
          href={kind === "webhook" ? "/webhooks/new" : `/webhooks/new?to=${kind}`}
          aria-current={kind === chosen ? "true" : undefined}
        >
          {t.destinations[kind]}
        </a>
      ))}
    </nav>
  );
}

function newPage(c: PageContext, state?: FormState) {
  const visitor = c.get("visitor");
  const t = webhookTexts[visitor.locale];
  const destination = state?.destination ?? destinationParameter.parse(c.req.query("to"));
  return renderPage(
    c,
    { title: t.newTitle, status: state === undefined ? 200 : 422 },
    <Card>
      <Destinations chosen={destination} locale={visitor.locale} />
      <p class="muted">{t.destinationTexts[destination]}</p>
      {state?.problem !== undefined && <Notice tone="danger">{state.problem}</Notice>}
      <PostForm visitor={visitor} action="/webhooks">
        <FormIdField />
        <input type="hidden" name="destination" value={destination} />
        <EndpointFields
          destination={destination}
          values={state?.values ?? emptyEndpointForm(destination)}
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

/** Answers a refusal: with the form again, or with the page of an error. */
async function refusedPage(
  c: PageContext,
  outcome: Refused<WebhookRefusal> | CommonRefusal,
  show: (refused: RefusedForm) => Response | Promise<Response>,
): Promise<Response> {
  const refused = refusedForm(outcome, c.get("visitor").locale);
  if (refused === "missing") return await notFoundPage(c);
  if (refused === "not_allowed") return await notAllowedPage(c);
  return await show(refused);
}

async function createEndpoint(c: PageContext, deps: DashboardDeps) {
  const form = await readForm(c);
  const values = postedEndpoint(form);
  const destination = destinationKinds.find((kind) => kind === form.text("destination"));
  if (destination === undefined) return await notFoundPage(c);
  const sent = { ...sentEndpoint(values, destination), destination };
  const added = await performForm(c, deps, webhookCreation, sent, form);
  if (!added.ok) {
    return await refusedPage(
      c,
      added,
      (refused) => newPage(c, { values, destination, ...refused }),
    );
  }
  const { endpoint, secret } = added.body;
  return secret === undefined
    ? c.redirect(`/webhooks/${endpoint.id}`, 303)
    : await secretPage(c, { endpoint, secret });
}

/** The outcome of the act before the page is shown. */
interface DetailState extends Partial<RefusedForm> {
  /** Values that were typed into the settings, if they were refused. */
  readonly values?: EndpointFormValues;
  readonly isSaved?: boolean;
}

/** The number of the newest try before an event was sent by hand; 0: there was none. */
const numberBefore = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

/** Finds the try of an event that was sent by hand. */
function tryAfter({ tries }: TryPage, number: number): WebhookTry | undefined {
  return tries.findLast((one) => one.number > number && one.cause !== "event");
}

/** Shows how an event that was sent by hand has ended, with the log, as soon as it has. */
const showSent: EndpointAction = async (c, { kv }, endpoint) => {
  const { locale } = c.get("visitor");
  const { id } = c.get("signedIn").account;
  // Without them, the first event that was ever sent: it is the address of a part, which a reader may open by itself.
  const after = numberBefore.default(0).safeParse(c.req.query("after")).data;
  const looks = numberBefore.default(0).safeParse(c.req.query("looks")).data;
  if (after === undefined || looks === undefined) return await notFoundPage(c);
  const page = await listTries(kv, id, endpoint.id, { count: triesPerPage });
  const one = tryAfter(page, after);
  return await c.html(
    <>
      <SentEvent endpoint={endpoint} sent={{ after, looks }} one={one} locale={locale} />
      {one !== undefined && (
        <div id="tries" hx-swap-oob="true">
          <TryLog endpoint={endpoint} page={page} isNewest locale={locale} />
        </div>
      )}
    </>,
  );
};

interface PartProps {
  readonly visitor: Visitor;
  readonly endpoint: WebhookEndpoint;
}

function Settings(
  { visitor, endpoint, values, errors = {} }: PartProps & Pick<DetailState, "values" | "errors">,
) {
  const t = webhookTexts[visitor.locale];
  return (
    <Card title={t.settings}>
      <PostForm visitor={visitor} action={`/webhooks/${endpoint.id}`}>
        <EndpointFields
          destination={endpoint.chat ?? "webhook"}
          isStored
          values={values ?? endpointFormOf(endpoint)}
          errors={errors}
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
      <p class="muted">{endpoint.chat === undefined ? t.testText : t.testChatText}</p>
      <PostForm visitor={visitor} action={`/webhooks/${endpoint.id}/test`} class="inline-form">
        <SelectField
          name="kind"
          label={t.testKind}
          value={endpoint.kinds[0]}
          options={webhookKinds.map((kind) => ({ value: kind, label: kind }))}
          isCode
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
  const { kv, clock } = deps;
  const { id } = c.get("signedIn").account;
  const before = tryNumber.safeParse(c.req.query("before")).data;
  const page = await listTries(kv, id, endpoint.id, { count: triesPerPage, before });
  const sentAfter = numberBefore.safeParse(c.req.query("sent")).data;
  const [condition] = await readConditions(kv, id, [endpoint]);
  const part = { visitor, endpoint };
  const { switchedOff } = endpoint;
  return await renderPage(
    c,
    {
      title: endpointName(endpoint),
      lead: (
        <>
          <EndpointAddress endpoint={endpoint} locale={locale} />{" "}
          <EndpointState endpoint={endpoint} locale={locale} />
        </>
      ),
      status: state.errors === undefined ? 200 : 422,
    },
    <>
      {state.problem !== undefined && <Notice tone="danger">{state.problem}</Notice>}
      {state.isSaved === true && <Notice tone="success">{t.saved}</Notice>}
      {sentAfter !== undefined && (
        <SentEvent
          endpoint={endpoint}
          sent={{ after: sentAfter, looks: 0 }}
          one={tryAfter(page, sentAfter)}
          locale={locale}
        />
      )}
      {switchedOff !== undefined && (
        <Notice tone="warning">
          {t.switchedOff[switchedOff.why]} (<Time atMs={switchedOff.atMs} locale={locale} />)
        </Notice>
      )}
      {condition !== undefined && <QueueNotice {...condition} locale={locale} />}
      <div id="tries">
        <TryLog endpoint={endpoint} page={page} isNewest={before === undefined} locale={locale} />
      </div>
      <SendTest {...part} />
      <Settings {...part} {...state} />
      <div class="columns">
        <Switch {...part} />
        {endpoint.chat === undefined && <Rotate {...part} nowMs={clock.nowMs()} />}
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

/** Declares a form that shows the endpoint again if its act is refused. */
function formAct<
  Name extends ActName,
  Input extends z.ZodType,
  Body,
  Why extends WebhookRefusal,
>(
  operation: Operation<Name, Input, Body, Why, DashboardDeps>,
  sentOf: (form: PostedForm, c: PageContext) => Readonly<Record<string, unknown>>,
  show: (c: PageContext, path: string, body: Body) => Response | Promise<Response>,
): EndpointAction {
  return async (c, deps, endpoint) => {
    const form = await readForm(c);
    const sent = { ...sentOf(form, c), id: endpoint.id };
    const outcome = await performForm(c, deps, operation, sent, form);
    return outcome.ok
      ? await show(c, `/webhooks/${endpoint.id}`, outcome.body)
      : await refusedPage(c, outcome, (refused) => detailPage(c, deps, endpoint, refused));
  };
}

const saveEndpoint: EndpointAction = async (c, deps, endpoint) => {
  const values = postedEndpoint(await readForm(c));
  const sent = { ...sentEndpoint(values, endpoint.chat ?? "webhook"), id: endpoint.id };
  const edited = await performForm(c, deps, webhookChange, sent);
  return edited.ok ? await detailPage(c, deps, edited.body, { isSaved: true }) : await refusedPage(
    c,
    edited,
    (refused) => detailPage(c, deps, endpoint, { values, ...refused }),
  );
};

const switchEndpoint = formAct(
  webhookChange,
  (form) => ({ isOn: form.yesOrNo("on") }),
  (c, path) => c.redirect(path, 303),
);

const rotateSecret = formAct(webhookRotation, () => ({}), (c, _, made) => secretPage(c, made));

const removeEndpoint = formAct(webhookDeletion, () => ({}), (c) => c.redirect("/webhooks", 303));

/** Declares a form that sends an event now: the page of the endpoint then shows how it ends. */
function sendingAct<Input extends z.ZodType, Body, Why extends WebhookRefusal>(
  operation: Operation<"testWebhook" | "resendWebhookDelivery", Input, Body, Why, DashboardDeps>,
  sentOf: (form: PostedForm, c: PageContext) => Readonly<Record<string, unknown>>,
): EndpointAction {
  return async (c, deps, endpoint) => {
    const { id } = c.get("signedIn").account;
    const { tries: [newest] } = await listTries(deps.kv, id, endpoint.id, { count: 1 });
    const act = formAct(
      operation,
      sentOf,
      (c, path) => c.redirect(`${path}?sent=${newest?.number ?? 0}`, 303),
    );
    return await act(c, deps, endpoint);
  };
}

const sendTestEvent = sendingAct(webhookTest, (form) => ({ kind: form.text("kind") }));

const sendTryAgain = sendingAct(webhookResending, (_, c) => ({ number: c.req.param("number") }));

const showTry: EndpointAction = async (c, { kv }, endpoint) => {
  const number = tryNumber.safeParse(c.req.param("number")).data;
  const { id } = c.get("signedIn").account;
  const one = number === undefined ? undefined : await getTry(kv, id, endpoint.id, number);
  if (one === undefined) return await notFoundPage(c);
  const visitor = c.get("visitor");
  const t = webhookTexts[visitor.locale];
  return await renderPage(
    c,
    { title: t.tryTitle, lead: <code>{one.type}</code> },
    <TryView endpoint={endpoint} one={one} visitor={visitor} />,
  );
};

/** Runs an act on an endpoint of the signed-in account; those of others do not exist for it. */
function onEndpoint(deps: DashboardDeps, action: EndpointAction) {
  return async (c: PageContext) => {
    const id = parseId("webhookEndpoint", c.req.param("id") ?? "");
    const found = id && await getEndpoint(deps.kv, c.get("signedIn").account.id, id);
    return found === undefined ? await notFoundPage(c) : await action(c, deps, found);
  };
}

function createWebhookPages(deps: DashboardDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .use("/webhooks/*", requireAccount)
    .get("/webhooks", (c) => listPage(c, deps))
    .post("/webhooks", (c) => createEndpoint(c, deps))
    .get("/webhooks/new", (c) => newPage(c))
    .get("/webhooks/:id", onEndpoint(deps, detailPage))
    .get("/webhooks/:id/sent", onEndpoint(deps, showSent))
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
