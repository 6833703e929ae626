/** What whoever manages budgets writes of one: the fields of forms and of programs, with their bounds. */
import { z } from "zod";
import { isTagKey, isTagValue } from "../billing/usage/call_tags.ts";
import { type ApiKeyId, parseId } from "../lib/ids/ids.ts";
import { budgetEnds, budgetWindows } from "./budgets.ts";

/** Most characters of the name of a budget. */
const maxNameChars = 60;
/** The largest amount in VND: beyond any wallet, and exact in a number. */
const maxVnd = 1_000_000_000_000;
/** Most characters of the id of a model, member or team. */
const maxIdChars = 256;

const keyId = z.custom<ApiKeyId>(
  (value) => typeof value === "string" && parseId("apiKey", value) !== undefined,
  "must be the id of an API key",
);
const id = z.string().min(1).max(maxIdChars);

/** The schema of a {@linkcode BudgetInput}. */
export const budgetInputSchema = z.strictObject({
  name: z.string().trim().min(1).max(maxNameChars),
  subject: z.discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("account") }),
    z.strictObject({ kind: z.literal("key"), keyId }),
    z.strictObject({ kind: z.literal("model"), model: id }),
    z.strictObject({
      kind: z.literal("tag"),
      tag: z.strictObject({
        key: z.string().refine(isTagKey),
        value: z.string().refine(isTagValue),
      }),
    }),
    z.strictObject({ kind: z.literal("member"), memberId: id }),
    z.strictObject({ kind: z.literal("team"), teamId: id }),
  ]),
  window: z.enum(budgetWindows),
  amountVnd: z.int().min(1).max(maxVnd),
  atLimit: z.enum(budgetEnds),
});

/** What a budget shall be. */
export type BudgetInput = z.infer<typeof budgetInputSchema>;
