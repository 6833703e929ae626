/**
 * Processes the mail queue: creates the token of the link, composes the mail, hands it to the
 * mailer.
 */
import { defined } from "../../core/lib/base/defined.ts";
import type { AccountId } from "../../core/lib/ids/ids.ts";
import type { Clock } from "../../core/lib/time/clock.ts";
import type { MasterKeys } from "../../core/people/api_keys/seal.ts";
import { canSwitchOff, mailKinds, renderMail } from "../../core/people/mail/mail_kinds.ts";
import { type Brand, defaultBrand } from "../../core/people/mail/brand.ts";
import { composeMail } from "../../core/people/mail/mail_layout.ts";
import {
  type MailSubject,
  subscriberHash,
  switchOffPath,
  switchOffToken,
} from "../../core/people/mail/switch_off.ts";
import { type Mailer, type MailJob, organisationParameter } from "../../core/people/mail/mail.ts";
import { getPasswordHash } from "../../kv/people/accounts/account_credentials.ts";
import { findAccountByEmail, wantsMail } from "../../kv/people/accounts/accounts.ts";
import { isSubscribed } from "../../kv/people/operators/status_subscribers.ts";
import { mailQueue } from "../../kv/engine/outbox/outbox.ts";
import type { OutboxWork } from "../../kv/engine/outbox/outbox_worker.ts";
import { noteSentMail } from "../../kv/people/accounts/sent_mails.ts";
import { issueMailToken, type MailGrant, passwordMark } from "../../kv/people/accounts/tokens.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";

export interface SendMailDeps {
  readonly kv: KeyValueStore;
  readonly clock: Clock;
  readonly mailer: Mailer;
  /** Sign the links that switch off mails. */
  readonly masterKeys: MasterKeys;
  readonly baseUrl: string;
  /** The operator's name and colour. Absent: those of the project. */
  readonly brand?: Brand | undefined;
  /** Reads the balance that a mail about a top-up names. Absent: it names none. */
  readonly balanceOf?: (accountId: AccountId) => Promise<bigint>;
  /** The support contact that mails name. */
  readonly support?: string | undefined;
}

/** Mails sent at the same time by this process. */
const lanes = 4;

/** The mail that a job leads to, and what its link lets the reader do. */
interface Outgoing {
  readonly job: MailJob;
  readonly grant?: MailGrant;
  /** The page that the link opens, if it is not the usual one of the mail's kind. */
  readonly path?: string;
}

/**
 * Decides which mail a job leads to, after the request is over and timing reveals nothing.
 * `undefined`: none.
 */
async function outgoing(
  { kv, balanceOf }: SendMailDeps,
  job: MailJob,
): Promise<Outgoing | undefined> {
  switch (job.kind) {
    case "sign_up": {
      const { to, locale, passwordHash, browserHash, next } = job;
      if (await findAccountByEmail(kv, to) !== undefined) {
        return { job: { kind: "already_registered", to, locale } };
      }
      const grant = {
        purpose: "sign_up",
        email: to,
        locale,
        passwordHash,
        browserHash,
        next,
      } as const;
      return { job, grant };
    }
    case "reset_password":
    case "sign_in_link": {
      const account = await findAccountByEmail(kv, job.to);
      if (account === undefined || account.blockedAtMs !== undefined) return undefined;
      const mark = await passwordMark(await getPasswordHash(kv, account.id));
      const opens = { accountId: account.id, passwordMark: mark };
      return job.kind === "reset_password"
        ? { job, grant: { purpose: "reset_password", ...opens } }
        : { job, grant: { purpose: "sign_in", ...opens, next: job.next } };
    }
    case "change_email": {
      if (await findAccountByEmail(kv, job.to) !== undefined) return undefined;
      const { accountId, oldEmail } = job;
      return {
        job,
        grant: { purpose: "change_email", accountId, oldEmail, newEmail: job.to },
      };
    }
    case "invoice_issued": {
      const { invoiceId } = job;
      if (invoiceId === undefined) return { job };
      return { job, grant: { purpose: "invoice_files", invoiceId }, path: "/invoices/shared" };
    }
    case "topup_credited": {
      const balanceMicroVnd = job.about && await balanceOf?.(job.about.accountId);
      return { job: { ...job, ...defined({ balanceMicroVnd }) } };
    }
    case "subscription_asked": {
      const { to: email, locale } = job;
      return { job, grant: { purpose: "status_subscription", email, locale } };
    }
    case "approval_waiting":
      return {
        job,
        path: job.approvalId === undefined
          ? "/operator/campaigns"
          : `${mailKinds[job.kind].path}/${job.approvalId}`,
      };
    default:
      return { job };
  }
}

/**
 * Finds who can switch a mail off. `off`: they have done so since the mail was queued. `undefined`: nobody, because its
 * kind is always sent, or its reader has no account.
 */
async function switchOf(
  kv: KeyValueStore,
  { kind, to }: MailJob,
): Promise<MailSubject | "off" | undefined> {
  if (!canSwitchOff(kind)) return undefined;
  if (mailKinds[kind].audience === "subscriber") {
    const addressHash = await subscriberHash(to);
    return await isSubscribed(kv, to) ? { kind: "subscriber", addressHash } : "off";
  }
  const account = await findAccountByEmail(kv, to);
  if (account === undefined) return undefined;
  return wantsMail(account, kind) ? { kind: "account", accountId: account.id } : "off";
}

/** Keeps that a mail was sent or given up, if its receiver has an account. A mail is not sent again for a lost note. */
async function note(
  { kv, clock }: SendMailDeps,
  { kind, to }: MailJob,
  fate: { readonly failed?: true } = {},
): Promise<void> {
  try {
    const account = await findAccountByEmail(kv, to);
    if (account === undefined) return;
    await noteSentMail(kv, account.id, { kind, atMs: clock.nowMs(), ...fate });
  } catch {
    // The store is away; the worker finds out by itself.
  }
}

/** End of the path of a link: its token, or the account that the mail is about. */
function linkEnd({ about }: MailJob, token: string | undefined): string {
  // Who has the token need not be a member, nor have an account.
  if (token !== undefined) return `#token=${token}`;
  return about === undefined ? "" : `?${organisationParameter}=${about.accountId}`;
}

/**
 * The consumer of {@linkcode mailQueue}. It creates the token and puts it into the fragment of the
 * link, which browsers send to no server: neither the store nor a log holds it. A mail that is sent
 * twice has two tokens.
 */
export function mailWork(deps: SendMailDeps): OutboxWork<MailJob> {
  return {
    queue: mailQueue,
    lanes,
    async handle(claim) {
      const mail = await outgoing(deps, claim.payload);
      if (mail === undefined) return "done";
      const { job, grant, path = mailKinds[job.kind].path } = mail;
      const subject = await switchOf(deps.kv, job);
      if (subject === "off") return "done";
      const switchOffUrl = subject && `${deps.baseUrl}${switchOffPath}?token=${await switchOffToken(
        deps.masterKeys,
        { subject, mailKind: job.kind },
      )}`;
      const token = grant && await issueMailToken(deps.kv, grant, deps.clock.nowMs());
      const url = `${deps.baseUrl}${path}${linkEnd(job, token)}`;
      const { to, locale } = job;
      const content = renderMail(job, url, deps.support);
      try {
        await deps.mailer.send(
          composeMail(content, {
            id: claim.id,
            to,
            locale,
            brand: deps.brand ?? defaultBrand,
            support: deps.support,
            switchOffUrl,
          }),
        );
      } catch (error) {
        if (claim.attempt >= mailQueue.maxAttempts) await note(deps, job, { failed: true });
        throw error;
      }
      await note(deps, job);
      return "done";
    },
  };
}
