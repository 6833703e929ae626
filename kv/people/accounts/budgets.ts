/** The budgets of accounts: one row each account, which holds on all instances within two seconds of a change. */
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import { fromVnd } from "../../../core/billing/money/micro_vnd.ts";
import { type Budget, maxBudgets, subjectText } from "../../../core/limits/budgets.ts";
import type { BudgetChange, BudgetInput } from "../../../core/limits/budget_input.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { bumpKeysEpoch } from "../../engine/control/control.ts";
import { accountKey, budgetsKey } from "../../engine/schema/keys.ts";
import { addAct, type Done } from "../audit/account_activity.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import { type Account, hasOnlyBooks, writeAccount } from "./accounts.ts";

/** Reads the budgets of an account, in the order in which they were made. */
export async function listBudgets(
  kv: KeyValueStore,
  accountId: AccountId,
): Promise<readonly Budget[]> {
  return (await kv.get<readonly Budget[]>(budgetsKey(accountId))).value ?? [];
}

/** A budget as the activity log has it. */
function settingsOf({ name, subject, window, amountMicroVnd, atLimit }: Budget): object {
  return { name, of: subjectText(subject), window, amountMicroVnd, atLimit };
}

/** Adds a line for each budget that a commit makes, changes or removes. */
function addBudgetLines(
  operation: AtomicWrite,
  accountId: AccountId,
  { before, after }: { readonly before: readonly Budget[]; readonly after: readonly Budget[] },
  done: Done,
): void {
  for (const id of new Set([...before, ...after].map((budget) => budget.id))) {
    const [old, now] = [before, after].map((some) => some.find((budget) => budget.id === id));
    if (old === now) continue;
    addAct(operation, accountId, "budgets_changed", done, {
      subject: id,
      ...(old !== undefined && { before: settingsOf(old) }),
      ...(now !== undefined && { after: settingsOf(now) }),
    });
  }
}

/**
 * Changes the budgets of an account.
 *
 * @param done who does it, for the activity log; absent: nobody of the account
 *
 * @param change gets the budgets that there are, and returns those that shall be
 * @returns the budgets; `undefined` if the account does not exist or was deleted
 * @throws {GatewayError} `invalid_request` beyond `maxBudgets`; what `change` throws; `overloaded` if others kept
 * changing them at the same time
 */
export async function changeBudgets(
  kv: KeyValueStore,
  accountId: AccountId,
  change: (budgets: readonly Budget[]) => readonly Budget[],
  done?: Done,
): Promise<readonly Budget[] | undefined> {
  return await writeAccount<readonly Budget[] | undefined>(async () => {
    const [account, entry] = await kv.getMany<[Account, readonly Budget[]]>([
      accountKey(accountId),
      budgetsKey(accountId),
    ]);
    if (account.value === null || hasOnlyBooks(account.value)) {
      return { done: undefined };
    }
    const budgets = change(entry.value ?? []);
    if (budgets.length > maxBudgets) {
      throw new GatewayError("invalid_request", `There are ${maxBudgets} budgets already`);
    }
    const operation = bumpKeysEpoch(kv.atomic()).check(account).check(entry);
    if (done !== undefined) {
      addBudgetLines(operation, accountId, { before: entry.value ?? [], after: budgets }, done);
    }
    if (budgets.length === 0) operation.delete(entry.key);
    else operation.set(entry.key, budgets);
    return (await operation.commit()).ok ? { done: budgets } : "again";
  });
}

function ofInput({ amountVnd, ...rest }: BudgetInput): Omit<Budget, "id" | "createdAtMs"> {
  return { ...rest, amountMicroVnd: fromVnd(amountVnd) };
}

function changed(budget: Budget, { amountVnd, ...rest }: BudgetChange): Budget {
  return {
    ...budget,
    ...rest,
    ...(amountVnd !== undefined && { amountMicroVnd: fromVnd(amountVnd) }),
  };
}

/**
 * Makes a budget.
 *
 * @returns it; `undefined` if the account does not exist
 * @throws {GatewayError} as {@linkcode changeBudgets}
 */
export async function addBudget(
  kv: KeyValueStore,
  accountId: AccountId,
  input: BudgetInput,
  done: Done,
): Promise<Budget | undefined> {
  const budget: Budget = { id: crypto.randomUUID(), createdAtMs: done.nowMs, ...ofInput(input) };
  const budgets = await changeBudgets(kv, accountId, (known) => [...known, budget], done);
  return budgets && budget;
}

/**
 * Changes a budget: what is left out stays as it is now, also if others have just changed it, and what was spent stays
 * spent.
 *
 * @returns the changed budget; `undefined` if the account has none with this id
 * @throws {GatewayError} as {@linkcode changeBudgets}
 */
export async function editBudget(
  kv: KeyValueStore,
  accountId: AccountId,
  id: string,
  change: BudgetChange,
  done?: Done,
): Promise<Budget | undefined> {
  const budgets = await changeBudgets(
    kv,
    accountId,
    (known) => known.map((budget) => budget.id === id ? changed(budget, change) : budget),
    done,
  );
  return budgets?.find((budget) => budget.id === id);
}

/**
 * Removes a budget; calls that it refused are served again.
 *
 * @returns whether there was one with this id
 * @throws {GatewayError} as {@linkcode changeBudgets}
 */
export async function removeBudget(
  kv: KeyValueStore,
  accountId: AccountId,
  id: string,
  done?: Done,
): Promise<boolean> {
  let wasThere = false;
  await changeBudgets(kv, accountId, (known) => {
    wasThere = known.some((budget) => budget.id === id);
    return known.filter((budget) => budget.id !== id);
  }, done);
  return wasThere;
}
