/**
 * Reads `MAIL_URL` once, at start, so that mistakes in it show there and not when the first
 * customer waits for a mail.
 */
import { parseUrl } from "../../lib/runtime/built_ins.ts";
import {
  holdsControls,
  percentEncodeHint,
  secretProblem,
  userInformation,
  withoutLineEnd,
} from "../../lib/environment/environment.ts";

/** Ways to send mails. */
export type MailSettings =
  /** Written to the log, links included; for a developer's machine only. */
  | { readonly kind: "log" }
  | SmtpSettings
  | HttpMailSettings;

/** A server that speaks SMTP. */
export interface SmtpSettings {
  readonly kind: "smtp";
  /** A host name, or an IP address without brackets. */
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte; otherwise STARTTLS. */
  readonly isSecure: boolean;
  readonly login: { readonly user: string; readonly password: string } | undefined;
  /** `Model Gateway <no-reply@example.com>` or a bare address; undefined = made from the service's own address. */
  readonly from: string | undefined;
}

/** A mail service that accepts one POST of JSON per mail. */
export interface HttpMailSettings {
  readonly kind: "https";
  /** Without key and sender. */
  readonly url: string;
  /** Sent as `Authorization: Bearer`. */
  readonly key: string | undefined;
  readonly from: string | undefined;
}

/**
 * The settings, or a `problem` that repeats nothing of the text, since a password is part of it.
 */
export type MailSettingsResult =
  | { readonly ok: true; readonly mail: MailSettings }
  | { readonly ok: false; readonly problem: string };

const refused = (problem: string): MailSettingsResult => ({ ok: false, problem });

/** A bare address, or a name followed by an address in angle brackets. */
const sender = /^(?:[^<>\p{Cc}]*<[^<>@\s]+@[^<>@\s]+>|[^<>@\s]+@[^<>@\s]+)$/u;
/** A name, an IPv4 address, or an IPv6 address in brackets. */
const hostname = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])$/;

/**
 * Parses the address of the mail server or service.
 *
 * @example
 * ```ts
 * import { readMailUrl } from "./mail_url.ts";
 * const read = readMailUrl("smtp://gw:p%23ss@mail.example.com:587?from=Gateway%20<no-reply@gw.example>");
 * if (!read.ok || read.mail.kind !== "smtp" || read.mail.login?.password !== "p#ss") throw new Error();
 * const wrong = readMailUrl("smtp://gw:p#ss@mail.example.com:587");
 * if (wrong.ok || wrong.problem.includes("p#ss")) throw new Error("the password is told");
 * ```
 */
export function readMailUrl(text: string): MailSettingsResult {
  const address = withoutLineEnd(text);
  if (address.startsWith("log:")) return { ok: true, mail: { kind: "log" } };
  if (!/^(?:smtps?|https):\/\//.test(address)) {
    return refused("must start with smtp://, smtps://, https:// or log:");
  }
  if (holdsControls(address)) return refused("must not hold line breaks or control characters");
  const url = parseUrl(address);
  if (url === null) return refused(`must be a valid address; ${percentEncodeHint}`);
  if (url.hash !== "") return refused(`must not hold a bare #; ${percentEncodeHint}`);
  const from = url.searchParams.get("from") ?? undefined;
  if (from !== undefined && !sender.test(from)) {
    return refused(
      "must have from= as Name <address@example.com>, percent-encoded",
    );
  }
  url.searchParams.delete("from");
  return url.protocol === "https:" ? readService(url, from) : readServer(url, from);
}

function readServer(url: URL, from: string | undefined): MailSettingsResult {
  if (!hostname.test(url.hostname)) return refused("must name a host");
  // A bare / or ? in a password ends the host early: the rest looks like a path or a query.
  if (!["", "/"].includes(url.pathname) || url.search !== "") {
    return refused(`must hold nothing behind the host but ?from=; ${percentEncodeHint}`);
  }
  if (url.port === "0") return refused("must name a port from 1 to 65535");
  const login = userInformation(url);
  if (login === undefined) {
    return refused(`must not hold a % that begins no character; ${percentEncodeHint}`);
  }
  if (login.user === "" && login.password !== "") {
    return refused("must name the user of the password");
  }
  const isSecure = url.protocol === "smtps:";
  return {
    ok: true,
    mail: {
      kind: "smtp",
      host: url.hostname.replace(/^\[|\]$/g, ""),
      port: url.port === "" ? (isSecure ? 465 : 587) : Number(url.port),
      isSecure,
      login: login.user === "" ? undefined : login,
      from,
    },
  };
}

function readService(url: URL, from: string | undefined): MailSettingsResult {
  const login = userInformation(url);
  if (login === undefined) {
    return refused(`must not hold a % that begins no character; ${percentEncodeHint}`);
  }
  const key = login.password || login.user;
  const problem = secretProblem(key);
  if (problem !== undefined) return refused(`must hold a key; it ${problem}`);
  const bare = new URL(url);
  bare.username = "";
  bare.password = "";
  return {
    ok: true,
    mail: { kind: "https", url: bare.href, key: key === "" ? undefined : key, from },
  };
}
