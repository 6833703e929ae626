/** Domains of organisations: their form, and the record that verifies who owns one. */

import { dayMs } from "../../lib/time/durations.ts";

/** Most domains of an organisation. */
export const maxDomains = 20;

/** Milliseconds for which a verified domain keeps its effect without its record: a week to mend a zone, holidays included. */
export const domainGraceMs = 7 * dayMs;

/** Labels of letters, digits and inner hyphens; names of other scripts in their form for DNS (`xn--…`). */
const domainForm =
  /^(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/;

/**
 * Reads a typed domain; `undefined` if it is none.
 *
 * @example
 * ```ts
 * import { parseDomain } from "./domain.ts";
 * if (parseDomain(" Acme.Example ") !== "acme.example") throw new Error("refused");
 * for (const bad of ["localhost", "192.0.2.1", "a..example", "https://acme.example", "acme.example."]) {
 *   if (parseDomain(bad) !== undefined) throw new Error(bad);
 * }
 * ```
 */
export function parseDomain(typed: string): string | undefined {
  const domain = typed.trim().toLowerCase();
  return domainForm.test(domain) ? domain : undefined;
}

/** Returns the domain of a normalised e-mail address. */
export function domainOf(email: string): string {
  return email.slice(email.lastIndexOf("@") + 1);
}

/** The record that an owner of a domain publishes. */
export interface VerificationRecord {
  readonly name: string;
  /** The text of a TXT record. */
  readonly value: string;
}

/**
 * Says which TXT record verifies a domain.
 *
 * @example
 * ```ts
 * import { verificationRecordOf } from "./domain.ts";
 * const { name, value } = verificationRecordOf("acme.example", "t0ken");
 * if (name !== "_gateway-verification.acme.example") throw new Error(name);
 * if (value !== "gateway-verification=t0ken") throw new Error(value);
 * ```
 */
export function verificationRecordOf(domain: string, token: string): VerificationRecord {
  return { name: `_gateway-verification.${domain}`, value: `gateway-verification=${token}` };
}
