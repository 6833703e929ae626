/**
 * The field for an operator's reason: required by every act that moves money or blocks somebody, and kept in the audit
 * log.
 */
import { TextField } from "../../../dashboard/components/mod.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";
import { frameTexts } from "./texts.ts";

/** `id` is needed only for the second field of a page. */
export function ReasonField({ locale, id }: { locale: Locale; id?: string }) {
  return (
    <TextField
      name="reason"
      id={id}
      label={frameTexts[locale].reason}
      required
      maxlength={500}
    />
  );
}
