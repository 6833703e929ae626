/**
 * Closes an account on request of its owner: what must end before, and what is deleted. Bookkeeping stays, under the id of
 * the account: ledger, receipts, top-up orders, notices of banks and invoices. What is left in the wallet stays in the
 * books, too, so that no money vanishes; the owner has been paid out before, or has given it up.
 */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { isFinal } from "../../../core/media/video/task.ts";
import type { InvoiceState } from "../../../core/trade/invoices/invoice.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { listAccountInvoices } from "../../money/invoices/invoices.ts";
import { listTopupOrders, orderStatus } from "../../money/payments/topups.ts";
import type { WalletEngine } from "../../money/wallet/mod.ts";
import type { OutboxWork } from "../../engine/outbox/outbox_worker.ts";
import {
  endOrganisation,
  forgetPerson,
  forgetRows,
} from "../../people/deletion/account_deletion.ts";
import {
  type PendingCleanup,
  pendingCleanupQueue,
  type QueuedCleanup,
} from "../../people/deletion/pending_cleanup.ts";
import { closeSessionsOf } from "../../people/accounts/sessions.ts";
import { forgetApiKeys } from "../../people/api_keys/api_key_changes.ts";
import { revokeKeysOf } from "../../people/organisations/members.ts";
import { forgetOrganisation } from "../../people/organisations/organisations.ts";
import { forgetManagementKeys } from "../../people/management_keys/management_keys.ts";
import { listVideos } from "../videos/mod.ts";

/** Obstacles that have to end before an account can be closed. */
const closingObstacles = [
  "running_calls",
  "running_videos",
  "open_orders",
  "open_invoices",
] as const;

/** Something that has to end first. */
export type ClosingObstacle = typeof closingObstacles[number];

/** State of an account before it is closed. */
export interface ClosingState {
  readonly balanceMicroVnd: bigint;
  readonly obstacles: readonly ClosingObstacle[];
}

/** Newest rows of each kind that are looked at: an order waits for an hour, a video and an invoice for days at most. */
const maxRowsRead = 200;

/** Whether somebody of the operator still works on an invoice. */
const isWaiting: Readonly<Record<InvoiceState, boolean>> = {
  requested: true,
  exported: true,
  issued: false,
  sent: false,
  rejected: false,
  replaced: false,
};

/** Reads what stands in the way, and what is in the wallet. */
export async function readClosingState(
  { kv, wallet }: { readonly kv: KeyValueStore; readonly wallet: Pick<WalletEngine, "balance"> },
  accountId: AccountId,
  nowMs: number,
): Promise<ClosingState> {
  const [balance, orders, invoices, { tasks }] = await Promise.all([
    wallet.balance(accountId),
    listTopupOrders(kv, accountId, { count: maxRowsRead }),
    listAccountInvoices(kv, accountId, maxRowsRead),
    listVideos(kv, accountId, { limit: maxRowsRead, order: "desc", after: undefined }),
  ]);
  const stands: Readonly<Record<ClosingObstacle, boolean>> = {
    running_calls: balance.reservedMicroVnd > 0n,
    running_videos: tasks.some(({ state }) => !isFinal(state)),
    open_orders: orders.some((order) => orderStatus(order, nowMs) === "pending"),
    open_invoices: invoices.some(({ state }) => isWaiting[state]),
  };
  return {
    balanceMicroVnd: balance.totalMicroVnd,
    obstacles: closingObstacles.filter((name) => stands[name]),
  };
}

/**
 * Deletes the person, and what is not bookkeeping. The first commit leaves no working credential behind; what follows it
 * is done by a worker if the process is killed in between.
 *
 * @param closing.givenUpMicroVnd what was in the wallet, which its owner gives up; noted in the row of the account
 */
export async function closeAccount(
  kv: KeyValueStore,
  personId: AccountId,
  { nowMs, givenUpMicroVnd }: { readonly nowMs: number; readonly givenUpMicroVnd: bigint },
): Promise<void> {
  await finish(kv, await forgetPerson(kv, personId, nowMs, givenUpMicroVnd));
}

/**
 * Closes an organisation of which only the owner is left. Bookkeeping stays, as for an account. Where it began as the
 * account of a person who has handed it over, the person goes on.
 */
export async function closeOrganisation(
  kv: KeyValueStore,
  organisationId: AccountId,
  { nowMs, givenUpMicroVnd }: { readonly nowMs: number; readonly givenUpMicroVnd: bigint },
): Promise<void> {
  await finish(kv, await endOrganisation(kv, organisationId, { nowMs, givenUpMicroVnd }));
}

/** Does what an act has queued, which nobody else does then. */
async function finish(kv: KeyValueStore, queued: QueuedCleanup | undefined): Promise<void> {
  if (queued === undefined) return;
  await finishCleanup(kv, queued.cleanup);
  await queued.finish(kv);
}

/** Does what is left of an act; what was done before is not done again. */
async function finishCleanup(kv: KeyValueStore, cleanup: PendingCleanup): Promise<void> {
  const { atMs } = cleanup;
  switch (cleanup.of) {
    case "member": {
      // Who has joined again meanwhile has keys of later.
      const { organisationId, personId } = cleanup;
      return await revokeKeysOf(kv, organisationId, personId, { nowMs: atMs, madeUntilMs: atMs });
    }
    case "organisation": {
      const { organisationId, ownerId } = cleanup;
      return await forgetRest(kv, { id: organisationId, ownerId }, atMs);
    }
    case "person": {
      const { personId, keepsOrganisation } = cleanup;
      await closeSessionsOf(kv, personId);
      if (keepsOrganisation) return await forgetRows(kv, personId, "person");
      return await forgetRest(kv, { id: personId, ownerId: personId }, atMs);
    }
  }
}

/** Deletes what is no bookkeeping of an organisation that has ended: what is found by its rows before these rows. */
async function forgetRest(
  kv: KeyValueStore,
  { id, ownerId }: { readonly id: AccountId; readonly ownerId: AccountId },
  nowMs: number,
): Promise<void> {
  await forgetManagementKeys(kv, id);
  await forgetApiKeys(kv, id, nowMs);
  await forgetOrganisation(kv, id, ownerId);
  await forgetRows(kv, id, "organisation");
}

/** Acts whose rest one process does at the same time. */
const lanes = 2;

/** The consumer of the queue of what is left to do. */
export function pendingCleanupWork(kv: KeyValueStore): OutboxWork<PendingCleanup> {
  return {
    queue: pendingCleanupQueue,
    lanes,
    async handle({ payload }) {
      await finishCleanup(kv, payload);
      return "done";
    },
  };
}
