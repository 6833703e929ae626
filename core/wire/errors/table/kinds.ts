/**
 * The kinds of errors, and what follows from each: the client's code, whose words the client gets, what rests, and
 * whether the operator hears of it.
 */
import type { ErrorCode, Mark } from "../../../lib/errors/errors.ts";

/** Consequence of a kind of error. Whether another route is tried follows from the code, and from `ability`. */
export interface Consequence {
  /** Decides the client's status, type and `x-should-retry`. */
  readonly code: ErrorCode;
  /**
   * Words that the client gets: the provider's, masked; the gateway's, since the provider's would tell of the operator;
   * or those by which agents shorten a request.
   */
  readonly words: "provider" | "gateway" | "window";
  readonly marks: Mark;
  /** Whether the operator is alarmed. */
  readonly alarms: boolean;
  /** Overrides what the code says of retries. */
  readonly retry?: false;
}

/** One entry for each kind. */
export const consequences = {
  /** The request is wrong. */
  request: { code: "invalid_request", words: "provider", marks: "nothing", alarms: false },
  /** The request refers to something that the provider does not have, such as a file. */
  missing: { code: "not_found", words: "provider", marks: "nothing", alarms: false },
  /** The request has too many bytes. */
  too_large: { code: "request_too_large", words: "provider", marks: "nothing", alarms: false },
  /** A filter of the provider refused the content. */
  content: { code: "content_policy_violation", words: "provider", marks: "nothing", alarms: false },
  /** The prompt is longer than the context window. */
  prompt: { code: "context_length_exceeded", words: "window", marks: "nothing", alarms: false },
  /** The prompt fits, but not together with the limit on output. */
  cap: { code: "invalid_request", words: "window", marks: "nothing", alarms: false },
  /** The model or endpoint lacks what the request asks for. */
  ability: { code: "invalid_request", words: "provider", marks: "ability", alarms: false },
  /** Key, balance or standing of the operator's account. */
  account: { code: "upstream_unreachable", words: "gateway", marks: "credential", alarms: true },
  /** The balance suffices for smaller requests than this one. */
  afford: { code: "upstream_unreachable", words: "gateway", marks: "nothing", alarms: true },
  /** The operator's account may not use this model, region or feature; or a refusal that says nothing. */
  access: { code: "upstream_unreachable", words: "gateway", marks: "several", alarms: true },
  /** The provider does not have the model. */
  model: { code: "model_not_found", words: "gateway", marks: "several", alarms: false },
  rate: { code: "rate_limit_exceeded", words: "provider", marks: "rate", alarms: false },
  /** The request alone is larger than what a minute allows, so that no wait helps. */
  beyond_rate: {
    code: "rate_limit_exceeded",
    words: "gateway",
    marks: "nothing",
    alarms: false,
    retry: false,
  },
  capacity: { code: "overloaded", words: "provider", marks: "route", alarms: false },
  unavailable: { code: "service_unavailable", words: "provider", marks: "route", alarms: false },
  timeout: { code: "upstream_timeout", words: "provider", marks: "route", alarms: false },
  /** The provider failed. */
  broken: { code: "upstream_unreachable", words: "provider", marks: "route", alarms: false },
  /** Failure by what the provider wrote in answer to this request; the route serves others. */
  unusable: { code: "upstream_unreachable", words: "provider", marks: "nothing", alarms: false },
} as const satisfies Record<string, Consequence>;

/** Kinds of errors, by whose matter they are. */
export type ErrorKind = keyof typeof consequences;

/** Meaning of a status that no row of the table explains. */
const kindOfStatus: ReadonlyMap<number, ErrorKind> = new Map<number, ErrorKind>([
  [401, "account"],
  [402, "account"],
  [403, "access"],
  [405, "access"],
  [407, "account"],
  [408, "timeout"],
  [409, "capacity"],
  [410, "model"],
  [412, "access"],
  [413, "too_large"],
  [425, "rate"],
  [426, "access"],
  [429, "rate"],
  [434, "access"],
  [451, "access"],
  [498, "capacity"],
  [499, "broken"],
  [503, "unavailable"],
  [504, "timeout"],
  [522, "timeout"],
  [524, "timeout"],
  [529, "capacity"],
]);

/** Meaning of a status by itself. 404 depends on what is missing. */
export function statusKind(status: number): ErrorKind {
  return kindOfStatus.get(status) ?? (status < 400 || status >= 500 ? "broken" : "request");
}
