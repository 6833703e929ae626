/** The form of an endpoint: its fields, what was typed, and what is wrong with it. */
import { webhookKinds, webhookKindSays } from "../../../../core/people/webhooks/events.ts";
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
  readonly name: string;
  readonly kinds: readonly string[];
}

/** What is wrong, by field. */
export type EndpointFormErrors = Partial<Record<keyof EndpointFormValues, string>>;

/** The form of a new endpoint: every event, since most receivers want all. */
export const emptyEndpointForm: EndpointFormValues = { url: "", name: "", kinds: webhookKinds };

/** The form of an endpoint as it is. */
export function endpointFormOf({ url, name, kinds }: WebhookEndpoint): EndpointFormValues {
  return { url, name, kinds };
}

/** Reads what was typed. */
export function postedEndpoint(posted: PostedForm): EndpointFormValues {
  return { url: posted.text("url"), name: posted.text("name"), kinds: posted.all("kinds") };
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

/** The fields. */
export function EndpointFields({ values, errors, locale }: {
  readonly values: EndpointFormValues;
  readonly errors: EndpointFormErrors;
  readonly locale: Locale;
}) {
  const t = webhookTexts[locale];
  return (
    <>
      <div class="fields">
        <TextField
          name="url"
          label={t.url}
          hint={t.urlHint}
          error={errors.url}
          value={values.url}
          placeholder="https://example.com/webhooks"
          maxlength={maxEndpointUrlChars}
          required
        />
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
