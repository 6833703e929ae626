/** Why an operator does something: asked wherever an act moves money or shuts somebody out, and kept in the audit log. */
import { TextField } from "../../dashboard/components/mod.ts";
import type { Locale } from "../../dashboard/i18n.ts";
import { frameTexts } from "./texts.ts";

/** `id`: only where the page has a second one. */
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
