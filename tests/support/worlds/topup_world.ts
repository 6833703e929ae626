/** A store with customers, orders and notices for top-up tests, with their queries. */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { fromVnd } from "../../../core/billing/money/micro_vnd.ts";
import {
  type BankNotice,
  type BankSource,
  parseBankTime,
} from "../../../core/trade/bank/bank_notice.ts";
import type { ReceivingAccount } from "../../../core/trade/bank/receiving_account.ts";
import { type Account, createAccount } from "../../../kv/people/accounts/accounts.ts";
import { type BankNoticeState, getBankNotice } from "../../../kv/money/payments/bank_notices.ts";
import {
  type BankIntake,
  createBankIntake,
  type IntakeProblem,
} from "../../../kv/money/payments/bank_intake.ts";
import type { MatchingSettings } from "../../../kv/money/payments/bank_matching.ts";
import type { Operator } from "../../../kv/people/audit/operator_audit.ts";
import { checkTopups } from "../../../kv/money/payments/topup_checks.ts";
import { createTopupOrder, type TopupOrder } from "../../../kv/money/payments/topups.ts";
import { verifyStore } from "../../../kv/services/verify/verify_books.ts";
import { readWallet } from "../../../kv/money/balances/wallets.ts";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";

export const receivingAccount: ReceivingAccount = {
  bin: "970422",
  bankName: "MB Bank",
  account: "0123456789",
  alsoKnownAs: ["VA00001"],
  holder: "CONG TY TNHH MAU",
  memoPrefix: "",
};

const startMs = Date.parse("2026-11-20T14:00:00+07:00");

export interface TopupWorld {
  readonly kv: KeyValueStore;
  readonly settings: MatchingSettings;
  readonly intake: BankIntake;
  readonly problems: IntakeProblem[];
  nowMs: number;
  customer(name: string): Promise<Account>;
  order(account: Account, amountVnd?: number): Promise<TopupOrder>;
  balanceVnd(accountId: AccountId): Promise<number>;
  state(event: BankNotice): Promise<BankNoticeState | undefined>;
  /** An intake over another view of the same store, e.g. a faulty one. */
  intakeOver(kv: KeyValueStore): BankIntake;
  /** The problems that the checks of ledger and bank find; empty if there are none. */
  findings(): Promise<readonly string[]>;
}

export function topupWorld(kv: KeyValueStore, change: Partial<MatchingSettings> = {}): TopupWorld {
  const problems: IntakeProblem[] = [];
  const report = (problem: IntakeProblem) => void problems.push(problem);
  const settings: MatchingSettings = {
    kv,
    nowMs: () => world.nowMs,
    receivingAccounts: [receivingAccount],
    autoCreditMaxMicroVnd: fromVnd(100_000_000),
    aloneMaxMicroVnd: fromVnd(5_000_000),
    ...change,
  };
  const world: TopupWorld = {
    kv,
    settings,
    intake: createBankIntake({ ...settings, report }),
    problems,
    nowMs: startMs,
    customer: (name) => createAccount(kv, { nowMs: world.nowMs, email: `${name}@example.com` }),
    async order(account, amountVnd = 200_000) {
      const made = await createTopupOrder(kv, {
        accountId: account.id,
        amountMicroVnd: fromVnd(amountVnd),
        to: receivingAccount,
        nowMs: world.nowMs,
        randomBytes: (into) => crypto.getRandomValues(into),
      });
      if (!made.ok) throw new Error(made.why);
      return made.order;
    },
    async balanceVnd(accountId) {
      return Number((await readWallet(kv, accountId)).availableMicroVnd / 1_000_000n);
    },
    async state(event) {
      return (await getBankNotice(kv, event)).value?.state;
    },
    intakeOver: (view) => createBankIntake({ ...settings, kv: view, report }),
    async findings() {
      const store = await verifyStore(kv);
      const bank = await checkTopups(kv, world.nowMs);
      return [...store.problems.map(({ kind, detail }) => `${kind}: ${detail}`), ...bank.problems];
    },
  };
  return world;
}

let eventNumber = 0;

/** A notice of 200,000 VND received; `change` overrides its members. */
export function notice(
  memo: string,
  change: Partial<BankNotice> & { readonly amountVnd?: number; readonly at?: string } = {},
): BankNotice {
  const { amountVnd = 200_000, at = "2026-11-20 14:02:37", ...rest } = change;
  eventNumber++;
  return {
    source: "sepay" as BankSource,
    id: String(90_000 + eventNumber),
    account: receivingAccount.account,
    direction: "in",
    amountMicroVnd: fromVnd(amountVnd),
    time: parseBankTime(at)!,
    memo,
    reference: `REF${eventNumber}`,
    ...rest,
  };
}

/** Without the reference, which is optional and must not be `undefined`. */
export function withoutReference(event: BankNotice): BankNotice {
  const { reference: _, ...rest } = event;
  return rest;
}

export async function operator(world: TopupWorld, name: string): Promise<Operator> {
  const account = await world.customer(name);
  return { accountId: account.id, email: `${name}@example.com` };
}

/** A notice under review, a customer with an order, and the functions that resolve the notice. */
export async function reviewedNotice(kv: KeyValueStore) {
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const order = await world.order(ann);
  const staff = await operator(world, "staff");
  const event = notice("khong ro");
  await world.intake.take(event, "{}");
  const context = {
    operator: staff,
    nowMs: world.nowMs,
    receivingAccounts: world.settings.receivingAccounts,
    authority: { kind: "alone", limitMicroVnd: fromVnd(5_000_000) } as const,
    balanceOf: async (accountId: AccountId) => (await readWallet(kv, accountId)).availableMicroVnd,
  };
  return { world, ann, order, staff, event, context };
}
