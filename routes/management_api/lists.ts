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

/** Form in which a list shows its rows. */
interface RowForm<Row> {
  /** Shape of an answer for each row. */
  readonly item: AnswerShape;
  /** The cursor of a row. */
  readonly idOf: (row: Row) => string;
  readonly json: (row: Row, call: ManagementCall<unknown>) => JsonObject;
}

/** The page that a query asks for. */
export interface AskedPage {
  readonly count: number;
  /** The last row of the page before. */
  readonly after: string | undefined;
}

type NamedList = Pick<
  JsonOperation,
  "id" | "path" | "summary" | "description" | "act" | "parameters"
>;

/**
 * Declares an operation that lists rows which only the store can count, a page of them.
 *
 * @param list.page reads the rows after `after`; none if there is no such row
 */
export function pagedListing<Row>(
  { item, page, idOf, json, errors = [], ...named }:
    & NamedList
    & RowForm<Row>
    & {
      readonly errors?: JsonOperation["errors"];
      readonly page: (call: ManagementCall<unknown>, asked: AskedPage) => Promise<readonly Row[]>;
    },
): JsonOperation {
  return {
    ...named,
    method: "get",
    answer: pageOf(item),
    isList: true,
    row: item,
    errors: ["invalid_request", ...errors],
    async run(call) {
      const limit = rowLimit(call.query, managementRows);
      // One more than is shown says whether there is a next page.
      const after = call.query.get("after") ?? undefined;
      const rows = await page(call, { count: limit + 1, after });
      const shown = rows.slice(0, limit);
      const [first, last] = [shown[0], shown.at(-1)];
      return fieldsJson(pageFields("row"), {
        data: shown.map((row) => json(row, call)),
        firstId: first && idOf(first),
        lastId: last && idOf(last),
        hasMore: rows.length > shown.length,
      });
    },
  };
}

/** Declares an operation that lists all rows of a bounded list, in their order, a page of them. */
export function listing<Row>(
  { rows, ...list }:
    & NamedList
    & RowForm<Row>
    & { readonly rows: (call: ManagementCall<unknown>) => Promise<readonly Row[]> },
): JsonOperation {
  return pagedListing<Row>({
    ...list,
    async page(call, { count, after }) {
      const all = await rows(call);
      const start = after === undefined ? 0 : all.findIndex((row) => list.idOf(row) === after) + 1;
      // A row that is gone is no place to go on from: nothing is left, rather than everything once more.
      return after !== undefined && start === 0 ? [] : all.slice(start, start + count);
    },
  });
}
