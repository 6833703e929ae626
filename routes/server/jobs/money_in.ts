/**
 * Connects the sources of bank notices (webhooks, poll) with their intake, and runs the checks of
 * top-ups.
 */
import type { Hono } from "hono";
import { errorName } from "../../../core/lib/base/assert.ts";
import { cassoHook } from "../../../core/trade/bank/casso.ts";
import { sepayHook } from "../../../core/trade/bank/sepay.ts";
import { type BankIntake, createBankIntake } from "../../../kv/money/payments/bank_intake.ts";
import { checkTopups } from "../../../kv/money/payments/topup_checks.ts";
import { followCredited } from "../../../kv/money/credits/credited_transfers.ts";
import type { Gateway } from "../../api/gateway/gateway.ts";
import { createBankHookRoutes } from "../../hooks/bank.ts";
import { pollSepay, type SepayPollResult } from "../../payments/sepay_poll.ts";
import type { Job } from "./jobs.ts";
import { formatVnd } from "../../../core/billing/money/micro_vnd.ts";
import { dayMs, hourMs } from "../../../core/lib/time/durations.ts";

// Warns at the start of prices that are below what a provider charges.

/** Most lines of the log; the operator's page of margins lists them all. */
const maxPriceWarnings = 20;

/** Logs the routes that charge more than their model's customers pay. Without costs nothing is loaded. */
export async function warnOfPrices(
  { catalog, log }: {
    readonly catalog: Pick<Gateway["catalog"], "current">;
    readonly log: Gateway["log"];
  },
): Promise<void> {
  if (!catalog.current.hasCosts) return;
  const { underpricedRoutes } = await import("../../../core/catalog/underpriced.ts");
  const found = underpricedRoutes(catalog.current);
  for (
    const { model, route, bucket, priceMicroVnd, costMicroVnd, rates } of found.slice(
      0,
      maxPriceWarnings,
    )
  ) {
    log.event("warn", "a price is below its cost", {
      model,
      route,
      rate: bucket,
      price_vnd: formatVnd(priceMicroVnd),
      cost_vnd: formatVnd(costMicroVnd),
      rates_below_cost: rates,
    });
  }
}

/**
 * Milliseconds between two searches for notices without an end state, which a crash or a store failure leaves
 * behind.
 */
const bankSweepEveryMs = 60_000;

/**
 * Milliseconds between two comparisons of received, credited and waiting money; the operator's overview
 * compares on each visit.
 */
const topupCheckEveryMs = 6 * hourMs;

/** Milliseconds between two readings of the bank's list of movements. */
const bankPollEveryMs = 10 * 60_000;

/** Milliseconds back that each of these readings covers: a webhook lost over a weekend is still found. */
const bankPollWindowMs = 3 * dayMs;

/** The parts that pages, webhooks and jobs share. */
export interface MoneyIn {
  readonly intake: BankIntake;
  /** Reads the provider's list of movements now. Absent: no token is set. */
  readonly poll: (() => Promise<SepayPollResult>) | undefined;
  readonly hooks: Hono;
  readonly jobs: readonly Job[];
}

function intakeOf(gateway: Gateway, afterCredit: () => void): BankIntake {
  const { config: { topup }, kv, clock, log } = gateway;
  return createBankIntake({
    kv,
    nowMs: clock.nowMs,
    receivingAccounts: topup.receivingAccounts,
    autoCreditMaxMicroVnd: topup.autoCreditMaxMicroVnd,
    aloneMaxMicroVnd: topup.approvalAboveMicroVnd,
    onCredited(operation, credited) {
      followCredited(operation, credited);
      // The hint comes after the commit; without it the worker would look within a second.
      queueMicrotask(afterCredit);
    },
    report: ({ what, source, id, error }) =>
      log.event("warn", "bank notice", {
        what,
        source,
        id,
        ...(error === undefined ? {} : { error: errorName(error) }),
      }),
  });
}

/** Returns the poll of the provider's list of movements, if a token for it is set. */
function pollOf(
  gateway: Gateway,
  intake: BankIntake,
): (() => Promise<SepayPollResult>) | undefined {
  const { config: { topup: { sepayApiToken } }, clock } = gateway;
  if (sepayApiToken === undefined) return undefined;
  const world = { intake, nowMs: clock.nowMs, apiToken: sepayApiToken };
  return () => pollSepay({ ...world, fetch: (url, init) => fetch(url, init) }, bankPollWindowMs);
}

function bankHooksOf(gateway: Gateway, intake: BankIntake): Hono {
  const { config: { topup }, clock, deadlines, log } = gateway;
  return createBankHookRoutes({
    clock,
    deadlines,
    hooks: [sepayHook(topup.sepay), cassoHook(topup.cassoWebhookKey)]
      .filter((hook) => hook !== undefined),
    intake,
    report: ({ provider, what, error }) =>
      log.event("warn", "bank notice refused", {
        provider,
        what,
        ...(error === undefined ? {} : { error: errorName(error) }),
      }),
  });
}

function jobsOf(gateway: Gateway, intake: BankIntake, poll: MoneyIn["poll"]): Job[] {
  const { kv, clock, log } = gateway;
  const jobs: Job[] = [
    { name: "match bank notices", everyMs: bankSweepEveryMs, run: () => intake.sweep() },
    {
      name: "check top-ups",
      everyMs: topupCheckEveryMs,
      async run() {
        const { problems } = await checkTopups(kv, clock.nowMs());
        if (problems.length > 0) log.event("error", "top-ups do not add up", { problems });
      },
    },
  ];
  if (poll === undefined) return jobs;
  return [...jobs, {
    name: "poll bank movements",
    everyMs: bankPollEveryMs,
    async run() {
      const result = await poll();
      if (!result.ok) log.event("warn", "bank movements not read", { ...result });
    },
  }];
}

/**
 * Creates the intake of bank notices with everything that feeds it.
 *
 * @param onCredited is called after a transfer was credited and its mail added to the queue
 */
export function openMoneyIn(gateway: Gateway, onCredited: () => void): MoneyIn {
  const intake = intakeOf(gateway, onCredited);
  const poll = pollOf(gateway, intake);
  return {
    intake,
    poll,
    hooks: bankHooksOf(gateway, intake),
    jobs: jobsOf(gateway, intake, poll),
  };
}
