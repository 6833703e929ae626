/** The form of an endpoint: its fields, what was typed, and what is wrong with it. */
import { webhookKinds, webhookKindSays } from "../../../../core/people/webhooks/events.ts";
import { maxEndpointUrlChars } from "../../../../core/people/webhooks/endpoint_url.ts";
import type { WebhookEndpoint } from "../../../../kv/people/webhooks/endpoints.ts";
import { maxEndpointNameChars, type WebhookRefusal } from "../../../hooks/webhook_operations.ts";
import { CheckboxField, TextField } from "../../components/mod.ts";
import type { PostedForm } from "../../page/form_data.ts";
import type { Locale } from "../../text/i18n.ts";
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

/** Says in the reader's language what a schema found wrong. */
export function formErrors(
  issues: readonly { readonly path: readonly PropertyKey[] }[],
  locale: Locale,
): EndpointFormErrors {
  const t = webhookTexts[locale];
  const words: Readonly<Record<keyof EndpointFormValues, string>> = {
    url: t.urlProblems["is not a URL"],
    name: t.nameWrong,
    kinds: t.kindsWrong,
  };
  const wrong = new Set(issues.map(({ path: [field] }) => field));
  return Object.fromEntries(Object.entries(words).filter(([field]) => wrong.has(field)));
}

/** Says why an operation refused the address; `undefined` if it refused something else. */
export function urlError(why: WebhookRefusal, locale: Locale): EndpointFormErrors | undefined {
  return typeof why !== "string" && "url" in why
    ? { url: webhookTexts[locale].urlProblems[why.url] }
    : undefined;
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
              label={kind}
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
