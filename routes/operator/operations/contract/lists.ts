/** Lists as operations answer them: some rows, whether there are more, and the id after which those begin. */
import { z } from "zod";
import { refused } from "./operation.ts";

/** Rows of one answer: about 200 KB of JSON. */
const maxListedRows = 200;

/** Number of rows that a list is asked for. */
export const listLimit = z.coerce.number().int().min(1).max(maxListedRows).default(50);

/** Place at which a list continues. */
export const listCursor = z.string().optional().describe("The `last_id` of the page before.");

/** The schema of a list of rows. */
export function listOf<Row>(row: z.ZodType<Row>) {
  return z.object({
    object: z.literal("list"),
    data: z.array(row),
    has_more: z.boolean(),
    last_id: z.string().nullable().describe("Where the next page continues; null: it is empty."),
  });
}

/** Makes a list of some rows; without `next` they are the last. */
export function listBody<Row>(data: Row[], { next, last }: {
  readonly next: string | undefined;
  /** The id of the last row. */
  readonly last: string | undefined;
}) {
  const object = "list" as const;
  return { object, data, has_more: next !== undefined, last_id: next ?? last ?? null };
}

/** Makes a list of rows of which one more than `limit` was read, to know whether there are more. */
export function listRead<Item, Row>(read: readonly Item[], { limit, row, id }: {
  readonly limit: number;
  readonly row: (item: Item) => Row;
  readonly id: (item: Item) => string;
}) {
  const items = read.slice(0, limit);
  const end = items.at(-1);
  const last = end && id(end);
  return listBody(items.map(row), { next: read.length > limit ? last : undefined, last });
}

/** The refusal of a cursor that no list has answered. */
export function wrongCursor(form: string, field: "before" | "after" = "before") {
  return refused(field, "invalid_request", `${field}: must be ${form}`, field);
}
