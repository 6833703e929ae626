/** Budgets as forms and programs write them: their fields, with their bounds. */
import { z } from "zod";
import { isTagKey, isTagValue } from "../billing/usage/call_tags.ts";
import { parseId } from "../lib/ids/ids.ts";
import { nameOf } from "../lib/base/names.ts";
import { parsedText } from "../lib/base/parsed_text.ts";
import { budgetEnds, type BudgetSubject, budgetWindows } from "./budgets.ts";

/** The largest amount in VND: beyond any wallet, and exact in a number. */
const maxVnd = 1_000_000_000_000;
/** Most characters of the id of a model, member or team. */
const maxIdChars = 256;

const keyForm = "must be the id of an API key";
const keyId = parsedText(z.string(keyForm), (text) => parseId("apiKey", text), keyForm);
const id = z.string().min(1).max(maxIdChars);

/** Subject of a budget, as forms and programs write it. */
const subject = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("account") }),
  z.strictObject({ kind: z.literal("key"), keyId }),
  z.strictObject({ kind: z.literal("model"), model: id }),
  z.strictObject({
    kind: z.literal("tag"),
    key: z.string().refine(isTagKey, "must be the key of a tag, such as team"),
    value: z.string().refine(isTagValue, "must be the value of a tag"),
  }),
  z.strictObject({ kind: z.literal("member"), memberId: id }),
  z.strictObject({ kind: z.literal("team"), teamId: id }),
]).transform((written): BudgetSubject => {
  if (written.kind !== "tag") return written;
  const { kind, key, value } = written;
  return { kind, tag: { key, value } };
});

const name = nameOf();
const window = z.enum(budgetWindows);
const amountVnd = z.int().min(1).max(maxVnd);
const atLimit = z.enum(budgetEnds);

/** Input for a new budget. */
export const budgetInputSchema = z.strictObject({
  name,
  subject,
  window,
  amountVnd,
  atLimit: atLimit.default("refuse"),
});

/** Input for a budget that is changed: what is left out stays as it is. */
export const budgetChangeSchema = z.strictObject({
  name: name.exactOptional(),
  subject: subject.exactOptional(),
  window: window.exactOptional(),
  amountVnd: amountVnd.exactOptional(),
  atLimit: atLimit.exactOptional(),
});

/** Budget as it shall be. */
export type BudgetInput = z.output<typeof budgetInputSchema>;

/** A change of a budget: what is left out stays as it is. */
export type BudgetChange = z.output<typeof budgetChangeSchema>;
