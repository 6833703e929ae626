/** Tells operators that an act or a campaign waits for the approval of one of them. */
import type { MailJob } from "../../../core/people/mail/mail.ts";
import { addMail } from "../../engine/outbox/outbox.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import { type Account, findAccountByEmail, mailReaderOf } from "../accounts/accounts.ts";
import type { Actor } from "../audit/operator_audit.ts";
import { type Beneficiaries, isOneOf, isSamePerson } from "./beneficiaries.ts";

/** Most mails about one request; a team of operators is smaller. */
const maxApproverMails = 20;

/** Finds the accounts of operators, for mails about requests. */
export async function findApprovers(
  kv: KeyValueStore,
  emails: readonly string[],
): Promise<Account[]> {
  const some = emails.slice(0, maxApproverMails);
  const accounts = await Promise.all(some.map((email) => findAccountByEmail(kv, email)));
  return accounts.filter((account) => account !== undefined);
}

/** Request that waits for approval. */
export interface WaitingRequest extends
  Pick<
    Extract<MailJob, { kind: "approval_waiting" }>,
    "approvalId" | "amountMicroVnd" | "reason"
  > {
  /** Names the request among all mails. */
  readonly id: string;
  readonly requestedBy: Actor;
  /** People who may profit from the act, and so may not approve it. */
  readonly beneficiaries?: Beneficiaries;
}

/** Queues a mail to each operator who may approve a request: not its author, nor who may profit from it. */
export function addApprovalMails(
  operation: AtomicWrite,
  { id, requestedBy, beneficiaries = [], ...about }: WaitingRequest,
  { approvers, nowMs }: { readonly approvers: readonly Account[]; readonly nowMs: number },
): void {
  for (const account of approvers.slice(0, maxApproverMails)) {
    const reader = mailReaderOf(account, "approval_waiting");
    if (reader === undefined || account.blockedAtMs !== undefined) continue;
    const approver = { accountId: account.id, email: reader.to };
    if ("accountId" in requestedBy && isSamePerson(approver, requestedBy)) continue;
    if (isOneOf(beneficiaries, approver, account.identities)) continue;
    const job = { kind: "approval_waiting", ...reader, ...about } as const;
    const mail = { nowMs, id: `approval:${id}:${account.id}` };
    addMail(operation, { ...job, requestedBy: requestedBy.email }, mail);
  }
}
