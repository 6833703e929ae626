/** Views of the pages of webhooks: list, form, log of an endpoint, one try, and how to check a signature. */
import {
  exampleEvent,
  webhookBody,
  type WebhookKind,
  webhookKinds,
  webhookKindSays,
} from "../../../../core/people/webhooks/events.ts";
import { vietnamDayStartMs } from "../../../../core/lib/time/vietnam_time.ts";
import {
  maxWebhookEndpoints,
  type WebhookEndpoint,
} from "../../../../kv/people/webhooks/endpoints.ts";
import type {
  ListedWebhook,
  TryPage,
  WebhookTry,
} from "../../../../kv/people/webhooks/deliveries.ts";
import { maxWaitingDeliveries } from "../../../../kv/people/webhooks/endpoint_queues.ts";
import {
  Badge,
  Card,
  CheckboxField,
  CodeBlock,
  DataTable,
  Empty,
  Fact,
  Notice,
  Pager,
  PostForm,
  SubmitButton,
  TextField,
  Time,
} from "../../components/mod.ts";
import type { Visitor } from "../../page/visitor.ts";
import { formatCount, formatDuration } from "../../text/format.ts";
import type { Locale } from "../../text/i18n.ts";
import { CodeTabs } from "../connect/code_tabs.tsx";
import { webhookTexts } from "./texts.ts";
import { defined } from "../../../../core/lib/base/defined.ts";
import {
  type BotKind,
  botServers,
  type DestinationKind,
  hasBot,
  maxChatIdChars,
} from "../../../../core/people/webhooks/destinations.ts";
import { maxEndpointUrlChars } from "../../../../core/people/webhooks/endpoint_url.ts";
import type { CommonRefusal, Refused } from "../../../acts/operation.ts";
import { maxEndpointNameChars, type WebhookRefusal } from "../../../acts/webhooks.ts";
import type { PostedForm } from "../../page/form_data.ts";
import { spentWords } from "../../visitor/acting.ts";

/** Name of an endpoint: its own, or its host. */
export function endpointName({ name, url }: Pick<WebhookEndpoint, "name" | "url">): string {
  return name === "" ? new URL(url).host : name;
}

/** The service of an endpoint that is a chat, and as much of its address as is no secret. */
export function EndpointAddress({ endpoint: { chat, url, chatId }, locale }: {
  readonly endpoint: Pick<WebhookEndpoint, "chat" | "url" | "chatId">;
  readonly locale: Locale;
}) {
  const t = webhookTexts[locale];
  return (
    <span translate="no">
      {[chat && t.destinations[chat], url, chatId].filter((part) => part !== undefined).join(" · ")}
    </span>
  );
}

/** Whether an endpoint is on, and why not if its owner did not switch it off. */
export function EndpointState({ endpoint, locale }: {
  readonly endpoint: WebhookEndpoint;
  readonly locale: Locale;
}) {
  const t = webhookTexts[locale];
  if (endpoint.isOn) return <Badge tone="good">{t.on}</Badge>;
  return <Badge tone={endpoint.switchedOff === undefined ? "neutral" : "bad"}>{t.off}</Badge>;
}

/** The state of an endpoint in the list, with since when it only fails. */
function ListedState(
  { endpoint, streak, waiting, locale }: ListedWebhook & { readonly locale: Locale },
) {
  const t = webhookTexts[locale];
  if (endpoint.isOn && waiting >= maxWaitingDeliveries) {
    return <Badge tone="bad">{t.queueFull}</Badge>;
  }
  if (!endpoint.isOn || streak === undefined) {
    return <EndpointState endpoint={endpoint} locale={locale} />;
  }
  return (
    <>
      <Badge tone="bad">{t.failing}</Badge>
      <div>
        <small class="muted">
          {t.since} <Time atMs={streak.sinceMs} locale={locale} relative />
        </small>
      </div>
    </>
  );
}

/** Says how many events wait, and which were dropped, if any. */
export function QueueNotice(
  { waiting, dropped, locale }: Pick<ListedWebhook, "waiting" | "dropped"> & {
    readonly locale: Locale;
  },
) {
  const t = webhookTexts[locale];
  return (
    <>
      {waiting > 0 && (
        <p class="muted">
          {t.waiting(formatCount(waiting, locale), formatCount(maxWaitingDeliveries, locale))}
        </p>
      )}
      {dropped !== undefined && (
        <Notice tone="warning">
          {t.dropped(formatCount(dropped.count, locale))} (<Time
            atMs={dropped.sinceMs}
            locale={locale}
          />{" "}
          – <Time atMs={dropped.lastAtMs} locale={locale} />)
        </Notice>
      )}
    </>
  );
}

/** The list of endpoints. */
export function EndpointList({ listed, locale }: {
  readonly listed: readonly ListedWebhook[];
  readonly locale: Locale;
}) {
  const t = webhookTexts[locale];
  return (
    <Card title={t.count(listed.length, maxWebhookEndpoints)}>
      <DataTable
        label={t.title}
        rows={listed}
        empty={
          <Empty title={t.none}>
            <p>{t.noneHint}</p>
          </Empty>
        }
        columns={[
          {
            head: t.endpoint,
            kind: "long",
            cell: ({ endpoint }) => (
              <>
                <a
                  href={`/webhooks/${endpoint.id}`}
                  aria-label={t.details(endpointName(endpoint))}
                >
                  {endpointName(endpoint)}
                </a>
                <div>
                  <small class="muted">
                    <EndpointAddress endpoint={endpoint} locale={locale} />
                  </small>
                </div>
              </>
            ),
          },
          {
            head: t.state,
            cell: (one) => <ListedState {...one} locale={locale} />,
          },
          {
            head: t.events,
            kind: "number",
            cell: ({ endpoint: { kinds } }) => (
              <span title={kinds.join(", ")} translate="no">{kinds.length}</span>
            ),
          },
          {
            head: t.created,
            kind: "one-line",
            wideOnly: true,
            cell: ({ endpoint }) => <Time atMs={endpoint.createdAtMs} locale={locale} dateOnly />,
          },
        ]}
      />
    </Card>
  );
}

function TryBadge({ one: { outcome, nextAtMs }, locale }: {
  readonly one: WebhookTry;
  readonly locale: Locale;
}) {
  const t = webhookTexts[locale];
  if (outcome.kind === "delivered") return <Badge tone="good">{t.delivered}</Badge>;
  return nextAtMs === undefined
    ? <Badge tone="bad">{t.failed}</Badge>
    : <Badge tone="busy">{t.willRetry}</Badge>;
}

/** Says how a try ended. */
function outcomeWords({ outcome }: WebhookTry, locale: Locale): string {
  const t = webhookTexts[locale];
  const said = outcome.answer === undefined || outcome.answer === "" ? "" : ` “${outcome.answer}”`;
  if (outcome.kind === "delivered") return `${t.answered(outcome.status)}${said}`;
  const isOwnReason = outcome.status === undefined || outcome.reason === "refused";
  return `${isOwnReason ? t.failures[outcome.reason] : t.answered(outcome.status)}${said}`;
}

/** Seconds between two looks at whether an event has been answered, and the most looks: a try ends after 15 s. */
const lookEverySeconds = 1;
const maxLooks = 30;

/** An event that was sent by hand: where its try will be, and how often the page has looked. */
export interface SentByHand {
  /** The number of the newest try before it. */
  readonly after: number;
  readonly looks: number;
}

/** Says how an event that was sent by hand has ended; looks again by itself until it has. */
export function SentEvent({ endpoint, sent: { after, looks }, one, locale }: {
  readonly endpoint: WebhookEndpoint;
  readonly sent: SentByHand;
  readonly one: WebhookTry | undefined;
  readonly locale: Locale;
}) {
  const t = webhookTexts[locale];
  const path = `/webhooks/${endpoint.id}`;
  if (one !== undefined) {
    const isDelivered = one.outcome.kind === "delivered";
    return (
      <div id="sent" role="status">
        <Notice tone={isDelivered ? "success" : "danger"}>
          <strong>{isDelivered ? t.delivered : t.failed}:</strong> {outcomeWords(one, locale)} (
          {formatDuration(one.durationMs, locale)}).{" "}
          <a href={`${path}/deliveries/${one.number}`}>{t.openTry}</a>
        </Notice>
      </div>
    );
  }
  const isOver = looks >= maxLooks;
  const looking = isOver ? {} : {
    "hx-get": `${path}/sent?after=${after}&looks=${looks + 1}`,
    "hx-trigger": `load delay:${lookEverySeconds}s`,
    "hx-swap": "outerHTML",
  };
  return (
    <div id="sent" role="status" {...looking}>
      <Notice tone="info">
        {!isOver && <span class="pulse" aria-hidden="true"></span>}{" "}
        {isOver ? t.stillQueued : t.queued} <a href={`${path}?sent=${after}`}>{t.lookAgain}</a>
      </Notice>
    </div>
  );
}

/** The log of an endpoint, a page of it. */
export function TryLog({ endpoint, page, isNewest, locale }: {
  readonly endpoint: WebhookEndpoint;
  readonly page: TryPage;
  readonly isNewest: boolean;
  readonly locale: Locale;
}) {
  const t = webhookTexts[locale];
  const path = `/webhooks/${endpoint.id}`;
  const oldest = page.tries.at(-1)?.number;
  return (
    <Card title={t.log} id="deliveries">
      <p class="muted">{t.logText}</p>
      <DataTable
        label={t.log}
        rows={page.tries}
        empty={<p>{t.logNone}</p>}
        columns={[
          {
            head: t.time,
            kind: "one-line",
            cell: ({ atMs, number }) => (
              <a href={`${path}/deliveries/${number}`}>
                <Time atMs={atMs} locale={locale} />
              </a>
            ),
          },
          { head: t.event, cell: ({ type }) => <code>{type}</code> },
          {
            head: t.result,
            cell: (one) => (
              <>
                <TryBadge one={one} locale={locale} />
                <div>
                  <small class="muted">{outcomeWords(one, locale)}</small>
                </div>
              </>
            ),
          },
          {
            head: t.duration,
            kind: "number",
            cell: ({ durationMs }) => formatDuration(durationMs, locale),
          },
          {
            head: t.attempt,
            kind: "number",
            wideOnly: true,
            cell: ({ attempt, cause }) => cause === "event" ? attempt : t.causes[cause],
          },
        ]}
      />
      <Pager
        previous={isNewest ? undefined : `${path}#deliveries`}
        next={page.hasMore && oldest !== undefined
          ? `${path}?before=${oldest}#deliveries`
          : undefined}
        locale={locale}
      />
    </Card>
  );
}

/** Writes a stored body with line breaks, for people. */
function spread(body: string): string {
  return JSON.stringify(JSON.parse(body), null, 2);
}

/** One try, with what was sent and the button that sends it again. */
export function TryView({ endpoint, one, visitor }: {
  readonly endpoint: WebhookEndpoint;
  readonly one: WebhookTry;
  readonly visitor: Visitor;
}) {
  const { locale } = visitor;
  const t = webhookTexts[locale];
  const path = `/webhooks/${endpoint.id}`;
  // A chat gets a message, which is written of the event when it is sent.
  const payload = endpoint.chat === undefined ? t.payload : t.event;
  return (
    <>
      <Card>
        <dl class="facts">
          <Fact name={t.result}>
            <TryBadge one={one} locale={locale} /> {outcomeWords(one, locale)}
          </Fact>
          <Fact name={t.time}>
            <Time atMs={one.atMs} locale={locale} />
          </Fact>
          <Fact name={t.duration}>{formatDuration(one.durationMs, locale)}</Fact>
          <Fact name={t.attempt}>{one.attempt}</Fact>
          <Fact name={t.cause}>{t.causes[one.cause]}</Fact>
          <Fact name={t.nextTry}>
            {one.nextAtMs === undefined
              ? t.noNextTry
              : <Time atMs={one.nextAtMs} locale={locale} />}
          </Fact>
          <Fact name={t.id}>
            <code>{one.eventId}</code>
          </Fact>
        </dl>
      </Card>
      <Card title={payload}>
        <CodeBlock code={spread(one.body)} name="body.json" what={payload} locale={locale} />
      </Card>
      <Card title={t.again}>
        <p class="muted">{t.againText}</p>
        <PostForm visitor={visitor} action={`${path}/deliveries/${one.number}/again`}>
          <SubmitButton tone="plain">{t.again}</SubmitButton>
        </PostForm>
      </Card>
      <p>
        <a href={`${path}#deliveries`}>← {endpointName(endpoint)}</a>
      </p>
    </>
  );
}

/** Day of the example, which the page may name. */
const exampleDay = "2026-11-28";

const verifyingCode = [
  {
    name: "Python",
    language: "Python",
    code: `# pip install standardwebhooks
from standardwebhooks import Webhook

event = Webhook("whsec_…").verify(body, headers)  # raises if it is not genuine
print(event["type"], event["data"])`,
  },
  {
    name: "TypeScript",
    language: "TypeScript",
    code: `// npm install standardwebhooks
import { Webhook } from "standardwebhooks";

const event = new Webhook("whsec_…").verify(body, headers); // throws if it is not genuine`,
  },
];

/** Card about how a receiver checks a webhook, with an example of one. */
export function VerifyCard({ locale }: { readonly locale: Locale }) {
  const t = webhookTexts[locale];
  const example = webhookBody(exampleEvent("topup.credited"), {
    atMs: vietnamDayStartMs(exampleDay),
  });
  return (
    <Card title={t.verifyTitle}>
      <p>
        {t.verifyText} <a href="https://www.standardwebhooks.com">standardwebhooks.com</a>
      </p>
      <CodeTabs
        label={t.verifyTitle}
        locale={locale}
        tabs={[...verifyingCode, {
          name: t.payload,
          language: "body.json",
          code: spread(example),
        }]}
      />
    </Card>
  );
}

// The form of an endpoint: its fields, what was typed, and what is wrong with it.

/** The fields as typed. */
export interface EndpointFormValues {
  readonly url: string;
  /** Of a bot. Never shown again. */
  readonly token: string;
  readonly chatId: string;
  readonly name: string;
  readonly kinds: readonly string[];
}

/** Problems by field. */
type EndpointFormErrors = Partial<Record<keyof EndpointFormValues, string>>;

/** The form of a new endpoint: every event for a server, since most receivers want all; what people must know for a chat. */
export function emptyEndpointForm(destination: DestinationKind): EndpointFormValues {
  return {
    url: "",
    token: "",
    chatId: "",
    name: "",
    kinds: destination === "webhook" ? webhookKinds : alertKinds,
  };
}

/** The events that somebody should hear of who runs the organisation. */
const alertKinds: readonly WebhookKind[] = [
  "budget.reached",
  "budget.exhausted",
  "balance.low",
  "key.created",
  "key.revoked",
  "webhook.switched_off",
  "incident.opened",
  "incident.ended",
];

/** The form of an endpoint as it is. The address of a chat that has no bot is a secret. */
export function endpointFormOf(
  { chat, url, chatId = "", name, kinds }: WebhookEndpoint,
): EndpointFormValues {
  const isSecret = chat !== undefined && !hasBot(chat);
  return { url: isSecret ? "" : url, token: "", chatId, name, kinds };
}

/** Reads what was typed. */
export function postedEndpoint(posted: PostedForm): EndpointFormValues {
  return {
    url: posted.text("url"),
    token: posted.text("token"),
    chatId: posted.text("chatId"),
    name: posted.text("name"),
    kinds: posted.all("kinds"),
  };
}

/** Fields as a form sends them: an empty one of a chat is one that was not filled in. */
export function sentEndpoint(
  { url, token, chatId, name, kinds }: EndpointFormValues,
  destination: DestinationKind,
): Readonly<Record<string, unknown>> {
  const typed = (text: string) => text === "" ? undefined : text;
  return {
    ...defined({ token: typed(token), chatId: typed(chatId) }),
    ...defined({ url: destination === "webhook" ? url : typed(url) }),
    name,
    kinds,
  };
}

/** Why a form did nothing, as its page says it: at the fields at fault, or of all. */
export interface RefusedForm {
  readonly errors: EndpointFormErrors;
  readonly problem?: string;
}

/** Says in the reader's language why nothing was done; some refusals are no matter of the form. */
export function refusedForm(
  outcome: Refused<WebhookRefusal> | CommonRefusal,
  locale: Locale,
): RefusedForm | "missing" | "not_allowed" {
  const t = webhookTexts[locale];
  if ("why" in outcome) {
    switch (outcome.why) {
      case "full":
        return { errors: {}, problem: t.full(maxWebhookEndpoints) };
      case "sent":
        return { errors: {}, problem: t.sentBefore };
      case "forgotten":
        return { errors: {}, problem: t.forgotten };
      case "missing":
        return outcome.why;
      case "conflict":
        return { errors: {}, problem: t.busy };
      case "not_signed":
        return { errors: {}, problem: t.notSigned };
      case "no_bot":
        return { errors: { chatId: t.noBot } };
      case "token_needed":
        return { errors: { token: t.tokenNeeded } };
      default:
        return { errors: { url: t.urlProblems[outcome.why] } };
    }
  }
  switch (outcome.common) {
    case "spent":
      return { errors: {}, problem: spentWords(locale, outcome.retryAfterSeconds) };
    case "not_allowed":
      return outcome.common;
    case "input": {
      const words: Readonly<Record<keyof EndpointFormValues, string>> = {
        url: t.urlProblems["is not a URL"],
        token: t.tokenWrong,
        chatId: t.chatIdWrong,
        name: t.nameWrong,
        kinds: t.kindsWrong,
      };
      const wrong = new Set(outcome.issues.map(({ field }) => field.split(".")[0]));
      return {
        errors: Object.fromEntries(Object.entries(words).filter(([field]) => wrong.has(field))),
      };
    }
  }
}

interface FieldsProps {
  readonly destination: DestinationKind;
  /** Whether the endpoint exists, so that its secret can stay as it is. */
  readonly isStored?: boolean;
  readonly values: EndpointFormValues;
  readonly errors: EndpointFormErrors;
  readonly locale: Locale;
}

/** The bot that writes in a chat. Only its token is a secret. */
function BotFields(
  { kind, isStored = false, values, errors, locale }: FieldsProps & { readonly kind: BotKind },
) {
  const t = webhookTexts[locale];
  return (
    <>
      <TextField
        name="token"
        label={t.token}
        hint={isStored ? t.tokenStays : t.tokenHints[kind]}
        error={errors.token}
        type="password"
        autocomplete="off"
        maxlength={maxEndpointUrlChars}
        required={!isStored}
      />
      <TextField
        name="chatId"
        label={t.chatId}
        hint={t.chatIdHints[kind]}
        error={errors.chatId}
        value={values.chatId}
        autocomplete="off"
        maxlength={maxChatIdChars}
        required
      />
      <TextField
        name="url"
        label={t.botServer}
        hint={t.urlHints[kind]}
        error={errors.url}
        value={values.url}
        placeholder={botServers[kind]}
        maxlength={maxEndpointUrlChars}
      />
    </>
  );
}

const addressExamples: Readonly<Record<Exclude<DestinationKind, BotKind>, string>> = {
  webhook: "https://example.com/webhooks",
  slack: "https://hooks.slack.com/services/T…/B…/…",
};

function AddressField(
  { kind, isStored = false, values, errors, locale }: FieldsProps & {
    readonly kind: Exclude<DestinationKind, BotKind>;
  },
) {
  const t = webhookTexts[locale];
  const isSecret = kind !== "webhook";
  return (
    <TextField
      name="url"
      label={t.urls[kind]}
      hint={isStored && isSecret ? t.secretStays : t.urlHints[kind]}
      error={errors.url}
      value={isSecret ? "" : values.url}
      placeholder={addressExamples[kind]}
      maxlength={maxEndpointUrlChars}
      autocomplete="off"
      required={!(isStored && isSecret)}
    />
  );
}

/** The fields. */
export function EndpointFields(props: FieldsProps) {
  const { destination, values, errors, locale } = props;
  const t = webhookTexts[locale];
  return (
    <>
      <div class="fields">
        {hasBot(destination)
          ? <BotFields {...props} kind={destination} />
          : <AddressField {...props} kind={destination} />}
        <TextField
          name="name"
          label={t.name}
          hint={t.nameHint}
          error={errors.name}
          value={values.name}
          maxlength={maxEndpointNameChars}
        />
      </div>
      <fieldset aria-describedby={errors.kinds === undefined ? undefined : "kinds-error"}>
        <legend>{t.kinds}</legend>
        {errors.kinds !== undefined && (
          <small class="field-error" id="kinds-error">{errors.kinds}</small>
        )}
        <div class="fields">
          {webhookKinds.map((kind) => (
            <CheckboxField
              id={`kind-${kind.replace(".", "-")}`}
              name="kinds"
              label={<code>{kind}</code>}
              hint={webhookKindSays(kind)[locale]}
              value={kind}
              checked={values.kinds.includes(kind)}
            />
          ))}
        </div>
      </fieldset>
    </>
  );
}
