/** Finds out whose matter an error is: codes and vendors' own texts first, then the status. */
import { type ErrorFields, fieldPath, withoutLead } from "./error_fields.ts";
import { type ErrorKind, statusKind } from "./table/kinds.ts";
import type { ErrorRow } from "./table/row.ts";
import { formRows, rowsOfCode } from "./table/table.ts";
import { loneCounts, looseWindow, type WindowCounts, windowOf } from "./window_counts.ts";

/** Meaning of an error. */
export interface Verdict {
  readonly kind: ErrorKind;
  /** The row that says so; absent where the status alone does. */
  readonly row: ErrorRow | undefined;
  /** Tokens that a request beyond the window has. */
  readonly counts: WindowCounts | undefined;
  /** The ability that the route lacks, in the vendor's words. */
  readonly lacks: string | undefined;
}

/**
 * Classifies an error.
 *
 * @param status of the answer; `undefined` for an error within a stream or a success
 */
export function classify(status: number | undefined, fields: ErrorFields): Verdict {
  const text = withoutLead(fields.said);
  const known = status ?? fields.status;
  const found = byCode(known, fields, text, false) ?? byForm(known, text);
  if (found !== undefined) return found;
  const mayBeWindow = mayBeTooLong(known) && !fieldPath.test(text);
  const window = mayBeWindow ? looseWindow(text) : undefined;
  if (window !== undefined) return windowVerdict("prompt", undefined, window.counts);
  if (known === 404) return verdict(isAboutModel(fields) ? "model" : "missing");
  if (known !== undefined) return verdict(statusKind(known));
  return byCode(undefined, fields, text, true) ?? verdict("broken");
}

function verdict(kind: ErrorKind, row?: ErrorRow, groups?: Record<string, string>): Verdict {
  return { kind, row, counts: undefined, lacks: groups?.["lacks"] };
}

/** A prompt with numbers by which it fits is one whose cap is too large. */
function windowVerdict(
  kind: "prompt" | "cap",
  row: ErrorRow | undefined,
  counts: WindowCounts | undefined,
): Verdict {
  const isCap = counts?.cap !== undefined && counts.used <= counts.most;
  const isPrompt = counts !== undefined && counts.used > counts.most;
  return { kind: isPrompt ? "prompt" : isCap ? "cap" : kind, row, counts, lacks: undefined };
}

function byCode(
  status: number | undefined,
  fields: ErrorFields,
  text: string,
  isWeak: boolean,
): Verdict | undefined {
  for (const word of fields.words) {
    for (const row of rowsOfCode(word)) {
      if ((row.isWeak ?? false) !== isWeak || !fits(row, status)) continue;
      const match = row.form === undefined ? undefined : row.form.exec(text);
      if (match === null) continue;
      if (row.kind !== "prompt") return verdict(row.kind, row, match?.groups);
      const counted = fields.counts;
      if (counted !== undefined) return windowVerdict("prompt", row, counted);
      const worded = byForm(status, text);
      const isWindow = worded?.kind === "prompt" || worded?.kind === "cap";
      if (isWindow) return worded;
      return windowVerdict("prompt", row, looseWindow(text)?.counts ?? loneCounts(text));
    }
  }
  return undefined;
}

function byForm(status: number | undefined, text: string): Verdict | undefined {
  if (text === "" || fieldPath.test(text)) return undefined;
  for (const row of formRows) {
    if (!fits(row, status)) continue;
    const match = row.form?.exec(text);
    if (match === null || match === undefined) continue;
    if (row.kind !== "prompt" && row.kind !== "cap") return verdict(row.kind, row, match.groups);
    // More tokens than a minute has are no prompt beyond the window.
    if (status === 429) continue;
    const counts = windowOf(match.groups);
    // The numbers of a text that fits are no reason: the next form may explain it.
    if (counts !== undefined && counts.cap === undefined && counts.used <= counts.most) continue;
    const isSilent = counts === undefined && row.kind === "prompt";
    return windowVerdict(row.kind, row, isSilent ? loneCounts(text) : counts);
  }
  return undefined;
}

function fits({ only }: ErrorRow, status: number | undefined): boolean {
  return only === undefined || only === status;
}

/** Whether a status can report a request beyond the context window. */
function mayBeTooLong(status: number | undefined): boolean {
  return status === undefined || status === 400 || status === 413 || status === 422;
}

/** Whether a 404 that no row explains is about the model: its field says so, or nothing can be read. */
function isAboutModel({ param, words, said }: ErrorFields): boolean {
  return param === "model" || (said === "" && words.length === 0);
}
