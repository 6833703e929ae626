/** Logs one structured line per call: metadata only, never a prompt, an answer, a key or a host. */
import { formatVnd } from "../../core/billing/money/micro_vnd.ts";
import type { Receipt } from "../../core/billing/usage/receipt.ts";
import { type CallTiming, createEventBudget } from "./telemetry.ts";

/** The log of calls and events. */
export interface CallLog {
  /** Logs an ended call. `timing` is for tracing observers. */
  call(receipt: Receipt, timing?: CallTiming): void;
  /** Logs an event for the operator, within the budget of its message. `fields` are metadata. */
  event(level: "info" | "warn" | "error", message: string, fields?: Record<string, unknown>): void;
}

let lastSecond = -1;
let lastSecondText = "";

/**
 * Formats a time as `toISOString()` does. Formatting a date is slow and most lines are of the same second, so the
 * second is cached.
 */
function isoTime(atMs: number): string {
  const second = Math.floor(atMs / 1000);
  if (second !== lastSecond) {
    lastSecondText = new Date(second * 1000).toISOString().slice(0, 19);
    lastSecond = second;
  }
  return `${lastSecondText}.${String(atMs - second * 1000).padStart(3, "0")}Z`;
}

/** Writes a JSON field; nothing if there is no value. Only for names and values that need no escaping. */
function member(name: string, value: number | string | undefined): string {
  if (value === undefined) return "";
  return typeof value === "number" ? `,"${name}":${value}` : `,"${name}":${JSON.stringify(value)}`;
}

/**
 * Writes the line of a call. It is concatenated by hand, since `JSON.stringify` of an object costs three times as
 * much and every call has a line. Ids are letters and digits, so they need no escaping.
 */
function lineOf(receipt: Receipt): string {
  const { usage } = receipt;
  let attempts = "";
  for (const { route, outcome, ms, region } of receipt.attempts) {
    attempts += `${attempts === "" ? "" : ","}{"route":${JSON.stringify(route)},"outcome":${
      JSON.stringify(outcome)
    },"ms":${ms}${member("region", region)}}`;
  }
  return `{"time":"${isoTime(receipt.startedAtMs)}","level":"${
    receipt.outcome === "failed" ? "warn" : "info"
  }","message":"call","request_id":"${receipt.requestId}","account_id":"${receipt.accountId}"` +
    `,"key_id":"${receipt.keyId}"` + member("model", receipt.model) +
    member("style", receipt.style) + member("route", receipt.route) +
    member("region", receipt.region) +
    `,"status":${receipt.status},"outcome":"${receipt.outcome}","stream":${receipt.stream}` +
    member("ended_by", receipt.endCode) +
    `,"latency_ms":${receipt.latencyMs}` + member("first_output_ms", receipt.firstOutputMs) +
    member("input_tokens", usage?.input) + member("cache_read_tokens", usage?.cacheRead) +
    member("cache_write_tokens", usage?.cacheWrite) + member("output_tokens", usage?.output) +
    (receipt.estimated ? `,"estimated":true` : "") +
    `,"cost_vnd":"${formatVnd(receipt.costMicroVnd)}","attempts":[${attempts}]}`;
}

/** Writes the line of an event. `fields` are metadata. */
export function eventLine(
  atMs: number,
  level: "info" | "warn" | "error",
  message: string,
  fields: Record<string, unknown>,
): string {
  return JSON.stringify({ time: new Date(atMs).toISOString(), level, message, ...fields });
}

/**
 * Makes a log of JSON lines. `write` gets whole lines; `nowMs` is the time of events; `onCall` is called for each
 * call beside its line.
 */
export function createCallLog(
  write: (line: string) => void,
  nowMs: () => number,
  onCall: (receipt: Receipt, timing?: CallTiming) => void,
): CallLog {
  const budget = createEventBudget();
  return {
    call(receipt, timing) {
      onCall(receipt, timing);
      write(lineOf(receipt));
    },
    event(level, message, fields = {}) {
      const atMs = nowMs();
      const more = budget(message, atMs);
      if (more !== undefined) write(eventLine(atMs, level, message, { ...fields, ...more }));
    },
  };
}
