/**
 * Rows of the table of errors: what a vendor sends, and what it means.
 *
 * - Folder `core/wire/errors/table/`: errors of providers, by vendor, each with its meaning, an example and its source.
 * - In: vendors' documentation and public reports.
 * - Out: rows, found by code or by the beginning of the text.
 * - Never: decides by words that can quote the client; what follows from a meaning is in `core/wire/errors/table/kinds.ts`.
 */
import type { JsonObject } from "../../../lib/json/json.ts";
import type { ErrorKind } from "./kinds.ts";

/** The form of a vendor's error bodies. */
export type BodyShape =
  /** `{"error": {"message", "type", "param", "code"}}` */
  | "openai"
  /** `{"type": "error", "error": {"type", "message"}}` */
  | "anthropic"
  /** `{"error": {"code", "message", "status"}}` */
  | "google"
  /** `{"code", "message"}` */
  | "flat"
  /** `{"code", "error"}`; without a code `{"error"}` */
  | "text"
  /** `{"detail"}` */
  | "detail"
  /** `{"detail": {"status", "message"}}` */
  | "detail_object"
  /** `{"detail": [{"type", "msg", "loc"}]}` */
  | "detail_list"
  /** `{"base_resp": {"status_code", "status_msg"}}` */
  | "base_resp"
  /** `{"error_code", "error_msg"}` */
  | "error_code"
  /** `{"errors": [{"code", "message"}]}` */
  | "errors"
  /** `{"Response": {"Error": {"Code", "Message"}}}` */
  | "response"
  /** `{"name", "errors": ["…"]}` */
  | "named"
  /** `{"err_code", "err_msg"}` */
  | "err_code"
  /** `{"title", "detail", "status"}` */
  | "problem";

/** One error of a vendor. */
export interface ErrorRow {
  readonly kind: ErrorKind;
  /** The status of the example. The criterion of a row is its code, its text, or both. */
  readonly status: number;
  /** In lower case: a code, a type or a reason. A number has `#` and the member that it stands in. */
  readonly code?: string;
  /** The form of further codes that mean the same, for families. */
  readonly codes?: RegExp;
  /** The beginning of the text. Groups: `used`, `more`, `cap` and `most` count tokens; `lacks` is an ability. */
  readonly form?: RegExp;
  /** Only with this status. */
  readonly only?: number;
  /** The status decides against this row: its code says as little as `invalid_request_error`. */
  readonly isWeak?: true;
  /** The text of the example. */
  readonly says: string;
  /** Page or report, where it is not that of the vendor. */
  readonly source?: string;
  readonly shape?: BodyShape;
  /** Further members of the example's error object. */
  readonly more?: JsonObject;
}

/** Rows of one vendor. */
export interface VendorErrors {
  readonly vendor: string;
  readonly shape: BodyShape;
  readonly source: string;
  readonly rows: readonly ErrorRow[];
}

const count = String.raw`\d[\d,]{0,14}`;

/**
 * Makes a form from the beginning of a text, in which `{used}` and the like stand for counts of tokens.
 *
 * @example
 * ```ts
 * import { counting } from "./row.ts";
 * const form = counting(String.raw`prompt is too long: {used} tokens > {most} maximum`);
 * if (form.exec("prompt is too long: 12 tokens > 10 maximum")?.groups?.["most"] !== "10") throw new Error("not read");
 * ```
 */
export function counting(beginning: string): RegExp {
  const source = beginning.replaceAll(/\{([a-z]+)\}/g, `(?<$1>${count})`);
  return new RegExp(`^(?:the |your )?${source}`, "i");
}

type More = Partial<Omit<ErrorRow, "kind" | "status" | "says">>;

/** A row whose code decides. */
export function coded(
  kind: ErrorKind,
  status: number,
  code: string,
  says: string,
  more: More = {},
): ErrorRow {
  return { kind, status, code, says, ...more };
}

/** A row whose text decides, by its beginning. */
export function worded(
  kind: ErrorKind,
  status: number,
  form: RegExp,
  says: string,
  more: More = {},
): ErrorRow {
  return { kind, status, form, says, ...more };
}

/** A row that only documents what a status means at a vendor. */
export function plain(
  kind: ErrorKind,
  status: number,
  says: string,
  more: More = {},
): ErrorRow {
  return { kind, status, says, ...more };
}

/** A code that says as little as the status, which decides if there is one. */
export function weak(
  kind: ErrorKind,
  status: number,
  code: string,
  says: string,
  more: More = {},
): ErrorRow {
  return coded(kind, status, code, says, { isWeak: true, ...more });
}
