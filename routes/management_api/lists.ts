/** Pages of lists: rows after a cursor. The lists of an organisation are bounded, so they are read whole. */
import { fieldsJson } from "../../core/lib/json/fields.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import { pageFields } from "../../core/lib/json/schemas.ts";
import { type RowBounds, rowLimit } from "../http/query.ts";
import type { AnswerShape, ManagementCall, ManagementOperation } from "./operation.ts";

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

/**
 * Makes a page of rows: those after the row that `after` names, in the order of the list.
 *
 * @param idOf the cursor of a row
 */
function pageJson<Row>(
  rows: readonly Row[],
  query: URLSearchParams,
  { idOf, json }: { readonly idOf: (row: Row) => string; readonly json: (row: Row) => JsonObject },
): JsonObject {
  const limit = rowLimit(query, managementRows);
  const after = query.get("after");
  const start = after === null ? 0 : rows.findIndex((row) => idOf(row) === after) + 1;
  // A row that is gone is no place to go on from: nothing is left, rather than everything once more.
  const left = after !== null && start === 0 ? [] : rows.slice(start);
  const page = left.slice(0, limit);
  const [first, last] = [page[0], page.at(-1)];
  return fieldsJson(pageFields("row"), {
    data: page.map(json),
    firstId: first && idOf(first),
    lastId: last && idOf(last),
    hasMore: left.length > page.length,
  });
}

/** Declares an operation that lists rows, a page of them. */
export function listing<Row>(
  { item, rows, idOf, json, ...named }:
    & Pick<ManagementOperation, "id" | "path" | "summary" | "description" | "act">
    & {
      /** What an answer is made of for each row. */
      readonly item: AnswerShape;
      readonly rows: (call: ManagementCall<unknown>) => Promise<readonly Row[]>;
      readonly idOf: (row: Row) => string;
      readonly json: (row: Row, call: ManagementCall<unknown>) => JsonObject;
    },
): ManagementOperation {
  return {
    ...named,
    method: "get",
    answer: pageOf(item),
    isList: true,
    errors: ["invalid_request"],
    run: async (call) =>
      pageJson(await rows(call), call.query, { idOf, json: (row) => json(row, call) }),
  };
}
