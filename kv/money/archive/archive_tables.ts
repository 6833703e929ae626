/**
 * Tables of an archive, for every database: the column of each member of a call, and the columns of the
 * views that people and programs read.
 */
import { invariant } from "../../../core/lib/base/assert.ts";
import type { ColumnFilter, DayCalls } from "./receipt_archive.ts";
import { type ArchivedCall, columnText } from "./receipt_rows.ts";

/** Contents of a column. Those of the first three kinds are numbers of rows in another table. */
export type ColumnKind =
  | "account"
  | "key"
  | "shape"
  /** Milliseconds since 1970, in UTC. */
  | "time"
  /** Of four bytes. */
  | "integer"
  /** µVND, of eight bytes. */
  | "amount"
  | "flag"
  | "text";

/** The types of columns. */
export type ColumnTypes = Readonly<Record<ColumnKind | "day" | "bytes", string>>;

/** A column of calls. */
interface CallColumn {
  readonly name: string;
  readonly kind: ColumnKind;
  readonly nullable?: true;
}

/** The columns of calls, the widest first: a database that aligns numbers then leaves no gaps. */
export const callColumns = {
  calledAtMs: { name: "called_at", kind: "time" },
  costMicroVnd: { name: "cost_micro_vnd", kind: "amount" },
  providerCostMicroVnd: { name: "provider_cost_micro_vnd", kind: "amount", nullable: true },
  heldMicroVnd: { name: "held_micro_vnd", kind: "amount", nullable: true },
  position: { name: "position", kind: "integer" },
  accountId: { name: "account", kind: "account" },
  keyId: { name: "key", kind: "key" },
  shape: { name: "shape", kind: "shape" },
  startOffsetMs: { name: "start_offset_ms", kind: "integer" },
  latencyMs: { name: "latency_ms", kind: "integer" },
  firstOutputMs: { name: "first_output_ms", kind: "integer", nullable: true },
  attemptMs: { name: "attempt_ms", kind: "integer", nullable: true },
  inputTokens: { name: "input_tokens", kind: "integer", nullable: true },
  cacheReadTokens: { name: "cache_read_tokens", kind: "integer", nullable: true },
  cacheWriteTokens: { name: "cache_write_tokens", kind: "integer", nullable: true },
  outputTokens: { name: "output_tokens", kind: "integer", nullable: true },
  reasoningTokens: { name: "reasoning_tokens", kind: "integer", nullable: true },
  units: { name: "units", kind: "integer" },
  startsPage: { name: "starts_page", kind: "flag" },
  id: { name: "id", kind: "text" },
  providerUnits: { name: "provider_units", kind: "text", nullable: true },
  rest: { name: "rest", kind: "text", nullable: true },
} as const satisfies Readonly<Record<keyof ArchivedCall, CallColumn>>;

/** Columns that archives of earlier releases lack. They are empty for their calls, so they may be added at any time. */
export const addedColumns = [callColumns.heldMicroVnd] as const satisfies readonly CallColumn[];

/** A member of a call. */
export type CallMember = keyof typeof callColumns;

function isMember(name: string): name is CallMember {
  return Object.hasOwn(callColumns, name);
}

/** The members of a call in the order of their columns. */
export const callMembers: readonly CallMember[] = Object.keys(callColumns).filter(isMember);

/** Makes a call of a row whose columns have the names of its members. */
export function callOfRow(row: Readonly<Record<string, unknown>>): ArchivedCall {
  const cell = (member: CallMember) => row[member];
  return {
    calledAtMs: numberOf(cell("calledAtMs")),
    position: numberOf(cell("position")),
    startsPage: cell("startsPage") === true || cell("startsPage") === 1,
    id: textOf(cell("id")),
    accountId: textOf(cell("accountId")),
    keyId: textOf(cell("keyId")),
    shape: textOf(cell("shape")),
    startOffsetMs: numberOf(cell("startOffsetMs")),
    latencyMs: numberOf(cell("latencyMs")),
    firstOutputMs: numberOrNull(cell("firstOutputMs")),
    attemptMs: numberOrNull(cell("attemptMs")),
    inputTokens: numberOrNull(cell("inputTokens")),
    cacheReadTokens: numberOrNull(cell("cacheReadTokens")),
    cacheWriteTokens: numberOrNull(cell("cacheWriteTokens")),
    outputTokens: numberOrNull(cell("outputTokens")),
    reasoningTokens: numberOrNull(cell("reasoningTokens")),
    units: numberOf(cell("units")),
    costMicroVnd: textOf(cell("costMicroVnd")),
    providerCostMicroVnd: textOrNull(cell("providerCostMicroVnd")),
    heldMicroVnd: textOrNull(cell("heldMicroVnd")),
    providerUnits: textOrNull(cell("providerUnits")),
    rest: textOrNull(cell("rest")),
  };
}

function numberOf(cell: unknown): number {
  invariant(typeof cell === "number", "a column of numbers");
  return cell;
}

function textOf(cell: unknown): string {
  invariant(typeof cell === "string", "a column of texts");
  return cell;
}

const numberOrNull = (cell: unknown) => cell === null ? null : numberOf(cell);
const textOrNull = (cell: unknown) => cell === null ? null : textOf(cell);

/** Makes the counts of a day of a row. */
export function dayCallsOf({ day, calls, fitting }: Readonly<Record<string, unknown>>): DayCalls {
  return { day: textOf(day), calls: numberOf(calls), fitting: numberOf(fitting) };
}

/** The cells of a key and a model that days are counted for; `null`: all. */
export function countedCells(
  { keyId, model }: Pick<ColumnFilter, "keyId" | "model">,
): [keyId: string | null, model: string | null] {
  return [keyId ?? null, model === undefined ? null : columnText(model)];
}
