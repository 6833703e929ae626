/** Commands on the whole store: verification, export, rebuilding of derived sums. */
import type { Hono } from "hono";
import { z } from "zod";
import { inVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { exportRecords } from "../../../../kv/services/verify/export.ts";
import { voidSandboxMoney } from "../../../../kv/money/ledger/sandbox_money.ts";
import { rebuildAllDaySums, rebuildDaySums } from "../../../../kv/money/receipts/rebuild_sums.ts";
import { readKeptBalances } from "../../../../kv/services/verify/days/kept_balances.ts";
import { verifyAndSign } from "../../../../kv/services/proofs/verify_and_sign.ts";
import { makeSigningKey } from "../../../../kv/services/proofs/proof_keys.ts";
import { resealDays } from "../../../../kv/services/verify/verify_books.ts";
import { resealSecrets } from "../../../../kv/services/vault/reseal_secrets.ts";
import { resealStoredKeys } from "../../../../kv/services/vault/stored_keys.ts";
import { addAuditLine, commandLine } from "../../../../kv/people/audit/operator_audit.ts";
import { requireAccount } from "../../operations/contract/named_account.ts";
import { readInput } from "../../operations/contract/operation.ts";
import { day } from "../../operations/contract/texts.ts";
import { type AdminDeps, readJson, type StoreReading } from "./admin_deps.ts";
import { storeFindings } from "./store_findings.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";

/** Query of `verify`. */
export const verifyQuery = z.strictObject({
  full: z.literal("yes").optional(),
  from: day.optional(),
});

/** Body of `reseal`. */
export const resealBody = z.strictObject({ from: day });

/** Body of `sums rebuild`. */
export const rebuildBody = z.strictObject({ account: z.string().optional() });

/** Body of `reseal-secrets`. */
export const resealSecretsBody = z.strictObject({ after: z.string().optional() });

/** Adds `/doctor`, `/verify`, `/verify/reseal`, `/secrets/reseal`, `/proofs/keys`, `/sandbox/void`, `/export` and `/sums/rebuild`. */
export function addBookRoutes(
  app: Hono,
  { kv, clock, masterKeys, origin, parts, beginReading }: Pick<
    AdminDeps,
    "kv" | "clock" | "masterKeys" | "origin" | "parts" | "beginReading"
  >,
): void {
  app.get("/doctor", async (context) => context.json(await storeFindings({ kv, clock, parts })));

  app.get("/verify", async (context) => {
    const { full, from } = readInput(verifyQuery, context.req.query());
    using reading = beginReading?.(context.req.raw.signal);
    const { books, topups, proofs } = await verifyAndSign(kv, {
      ...reading,
      origin,
      masterKeys,
      nowMs: clock.nowMs(),
      isFull: full !== undefined,
      fromDay: from,
    });
    const ok = books.ok && topups.problems.length === 0;
    return Response.json(inVnd({ ...books, ok, topups, proofs }));
  });

  app.post("/verify/reseal", async (context) => {
    const { from } = readInput(resealBody, await readJson(context));
    using reading = beginReading?.(context.req.raw.signal);
    const options = { ...reading, masterKeys, nowMs: clock.nowMs() };
    return Response.json(inVnd(await resealDays(kv, from, options)));
  });

  app.post("/secrets/reseal", async (context) => {
    const { after } = readInput(resealSecretsBody, await readJson(context));
    const nowMs = clock.nowMs();
    const page = await resealSecrets(kv, masterKeys, after);
    if (after !== undefined) return Response.json(page);
    const line = { act: "secrets_resealed", subject: "", detail: "", atMs: nowMs } as const;
    const operation = kv.atomic();
    addAuditLine(operation, commandLine, line);
    await operation.commit();
    const ofProviders = await resealStoredKeys(kv, masterKeys, { operator: commandLine, nowMs });
    const { resealed, problems } = page;
    return Response.json({
      ...page,
      resealed: { ...resealed, provider_key: ofProviders.resealed.length },
      problems: [...problems, ...ofProviders.problems],
    });
  });

  app.post("/proofs/keys", async () => {
    const atMs = clock.nowMs();
    const { id } = await makeSigningKey(
      kv,
      masterKeys,
      atMs,
      (op, subject) =>
        addAuditLine(op, commandLine, { act: "proof_key_made", subject, detail: "", atMs }),
    );
    return Response.json({ key: id });
  });

  app.post("/sandbox/void", async () => {
    const voided = await voidSandboxMoney(kv, clock.nowMs());
    return Response.json(inVnd({ ok: voided.leased.length === 0, ...voided }));
  });

  app.get("/export", (context) => {
    const reading = beginReading?.(context.req.raw.signal);
    const records = ReadableStream.from(exported(kv, reading));
    return new Response(records.pipeThrough(new TextEncoderStream()));
  });

  app.post("/sums/rebuild", async (context) => {
    const { account } = readInput(rebuildBody, await readJson(context));
    const { kept } = await readKeptBalances(kv, masterKeys);
    const options = { nowMs: clock.nowMs(), afterDay: kept?.day };
    if (account === undefined) {
      using reading = beginReading?.(context.req.raw.signal);
      return context.json(await rebuildAllDaySums(kv, options, reading?.signal));
    }
    const id = await requireAccount(kv, account);
    const { corrected, isMoving } = await rebuildDaySums(kv, id, options);
    return context.json({ accounts: 1, corrected, moving: isMoving ? [id] : [] });
  });
}

async function* exported(
  kv: KeyValueStore,
  reading: StoreReading | undefined,
): AsyncGenerator<string> {
  using _ending = reading;
  yield* exportRecords(kv, reading?.slices);
}
