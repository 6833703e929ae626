/** The fields of an issued invoice, each once: what the invoicing provider assigned, as forms and programs give it. */
import type { IssuedInvoice } from "./invoice.ts";

/** A field of an issued invoice. */
export interface IssuedField {
  readonly input: "text" | "day";
  readonly maxChars: number;
  readonly isNeeded: boolean;
}

/** All fields, in the order of the form. */
export const issuedFields = {
  series: { input: "text", maxChars: 20, isNeeded: true },
  number: { input: "text", maxChars: 30, isNeeded: true },
  date: { input: "day", maxChars: 10, isNeeded: true },
  authorityCode: { input: "text", maxChars: 100, isNeeded: false },
  lookupCode: { input: "text", maxChars: 100, isNeeded: false },
} as const satisfies Readonly<Record<keyof IssuedInvoice, IssuedField>>;

/** The name of a field. */
export type IssuedFieldName = keyof typeof issuedFields;

function isFieldName(name: string): name is IssuedFieldName {
  return Object.hasOwn(issuedFields, name);
}

/** The names of all fields, in the order of the form. */
export const issuedFieldNames = Object.keys(issuedFields).filter(isFieldName);
