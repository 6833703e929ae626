/** The form of an endpoint: its fields, what was typed, and what is wrong with it. */
import { defined } from "../../../../core/lib/base/defined.ts";
import {
  type BotKind,
  botServers,
  type DestinationKind,
  hasBot,
  maxChatIdChars,
} from "../../../../core/people/webhooks/destinations.ts";
import {
  type WebhookKind,
  webhookKinds,
  webhookKindSays,
} from "../../../../core/people/webhooks/events.ts";
import { maxEndpointUrlChars } from "../../../../core/people/webhooks/endpoint_url.ts";
import {
  maxWebhookEndpoints,
  type WebhookEndpoint,
} from "../../../../kv/people/webhooks/endpoints.ts";
import type { CommonRefusal, Refused } from "../../../acts/operation.ts";
import { maxEndpointNameChars, type WebhookRefusal } from "../../../acts/webhooks.ts";
import { CheckboxField, TextField } from "../../components/mod.ts";
import type { PostedForm } from "../../page/form_data.ts";
import type { Locale } from "../../text/i18n.ts";
import { spentWords } from "../../visitor/acting.ts";
import { webhookTexts } from "./texts.ts";

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
export type EndpointFormErrors = Partial<Record<keyof EndpointFormValues, string>>;

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
