/** Pages of lists: rows after a cursor. Bounded lists are read whole, others by pages. */
import { fieldsJson } from "../../core/lib/json/fields.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import { pageFields } from "../../core/lib/json/schemas.ts";
import { type RowBounds, rowLimit } from "../http/query.ts";
import type { AnswerShape, JsonOperation, ManagementCall } from "./operation.ts";

/** Rows of a page. */
export const managementRows: RowBounds = { most: 200, otherwise: 50 };

/** The shape of a page of rows. */
function pageOf(item: AnswerShape): AnswerShape {
  const { name, description } = item;
  return {
    name: `${name}List`,
    description: `A page of: ${description}`,
    fields: pageFields(name),
  };
}

/** The page that a query asks for. */
export interface AskedPage {
  readonly count: number;
  /** The last row of the page before. */
  readonly after: string | undefined;
}

type NamedList<Row> =
  & Pick<JsonOperation, "id" | "path" | "summary" | "description" | "act" | "parameters">
  & {
    /** Shape of an answer for each row. */
    readonly item: AnswerShape<Row>;
    /** The cursor of a row; absent: its `id`. */
    readonly cursorOf?: (row: JsonObject) => string;
  };

function idOf({ id }: JsonObject): string {
  return String(id);
}

/**
 * Declares an operation that lists rows which only the store can count, a page of them.
 *
 * @param list.page reads the rows after `after`; none if there is no such row
 */
export function pagedListing<Row>(
  { item, page, cursorOf = idOf, ...named }: NamedList<Row> & {
    readonly page: (call: ManagementCall<unknown>, asked: AskedPage) => Promise<readonly Row[]>;
  },
): JsonOperation {
  return {
    ...named,
    method: "get",
    answer: pageOf(item),
    isList: true,
    row: item,
    errors: ["invalid_request", ...(named.path.includes("{") ? ["not_found" as const] : [])],
    async run(call) {
      const limit = rowLimit(call.query, managementRows);
      // One more than is shown says whether there is a next page.
      const after = call.query.get("after") ?? undefined;
      const rows = await page(call, { count: limit + 1, after });
      const data = rows.slice(0, limit).map((row) => fieldsJson(item.fields, row));
      const [first, last] = [data[0], data.at(-1)];
      return fieldsJson(pageFields("row"), {
        data,
        firstId: first && cursorOf(first),
        lastId: last && cursorOf(last),
        hasMore: rows.length > data.length,
      });
    },
  };
}

/** Declares an operation that lists all rows of a bounded list, in their order, a page of them. */
export function listing<Row>(
  { rows, ...list }: NamedList<Row> & {
    readonly rows: (call: ManagementCall<unknown>) => Promise<readonly Row[]>;
  },
): JsonOperation {
  const { item, cursorOf = idOf } = list;
  return pagedListing<Row>({
    ...list,
    async page(call, { count, after }) {
      const all = await rows(call);
      const isAfter = (row: Row) => cursorOf(fieldsJson(item.fields, row)) === after;
      const start = after === undefined ? 0 : all.findIndex(isAfter) + 1;
      // A row that is gone is no place to go on from: nothing is left, rather than everything once more.
      return after !== undefined && start === 0 ? [] : all.slice(start, start + count);
    },
  });
}
