/** Bodies of errors in the form of each vendor, made of the rows of the table. */
import type { Json, JsonObject } from "../../../../core/lib/json/json.ts";
import type { BodyShape, ErrorRow, VendorErrors } from "../../../../core/wire/errors/table/row.ts";
import { vendors } from "../../../../core/wire/errors/table/table.ts";

/** A code as the vendor writes it: the number of `base_resp#1002`. */
function codeOf({ code }: ErrorRow): Json {
  if (code === undefined) return null;
  return code.includes("#") ? Number(code.split("#")[1]) : code;
}

type Body = (says: string, code: Json, status: number, more: JsonObject) => Json;

const shapes: Readonly<Record<BodyShape, Body>> = {
  openai: (message, code, _, more) => ({
    error: { message, type: "invalid_request_error", param: null, code, ...more },
  }),
  anthropic: (message, code, _, more) => ({
    type: "error",
    error: { type: code ?? "invalid_request_error", message, ...more },
  }),
  google: (message, code, status, more) => ({ error: { code: code ?? status, message, ...more } }),
  flat: (message, code, _, more) => ({ object: "error", code, message, ...more }),
  text: (error, code, _, more) => ({ ...(code === null ? {} : { code }), error, ...more }),
  detail: (detail, _, __, more) => ({ detail, ...more }),
  detail_object: (message, status, _, more) => ({ detail: { status, message, ...more } }),
  detail_list: (msg, type, _, more) => ({ detail: [{ loc: ["body", "x"], msg, type, ...more }] }),
  base_resp: (status_msg, status_code, _, more) => ({
    base_resp: { status_code, status_msg, ...more },
  }),
  error_code: (error_msg, error_code, _, more) => ({ error_code, error_msg, ...more }),
  errors: (message, code, _, more) => ({ success: false, errors: [{ code, message, ...more }] }),
  response: (Message, Code, _, more) => ({
    Response: {
      Error: { Code, Message, ...more },
      RequestId: "8f3c1d2e-0000-4000-8000-123456789abc",
    },
  }),
  named: (message, name, _, more) => ({ id: "a1b2c3", name, errors: [message], ...more }),
  err_code: (err_msg, err_code, _, more) => ({
    err_code,
    err_msg,
    request_id: "8f3c1d2e-0000-4000-8000-123456789abc",
    ...more,
  }),
  problem: (detail, code, status, more) => ({
    type: code,
    title: "Error",
    status,
    detail,
    ...more,
  }),
};

/** Writes the example of a row in its vendor's form. */
export function bodyOf(vendor: VendorErrors, row: ErrorRow): Json {
  const shape = shapes[row.shape ?? vendor.shape];
  return shape(row.says, codeOf(row), row.status, row.more ?? {});
}

/** Every row with its vendor. */
export const examples: readonly { readonly vendor: VendorErrors; readonly row: ErrorRow }[] =
  vendors.flatMap((vendor) => vendor.rows.map((row) => ({ vendor, row })));
