/**
 * Asks the gateway on this machine whether it takes calls: `deno run --allow-net=127.0.0.1 --allow-env=PORT
 * deploy/ready.ts [WITHIN [FOR]]`, in seconds. Exits with 0 once `/readyz` has answered 200 for that long (0 by
 * default: once), with 1 if it has not begun to within that time (0: with the first answer).
 *
 * A rolling restart needs FOR: a proxy that checks each second has to see that this instance is back before the next
 * one says that it stops, or for a moment it knows of none.
 */
const [within = 0, lasting = 0] = Deno.args.map(Number);
const address = `http://127.0.0.1:${Deno.env.get("PORT") ?? "8787"}/readyz`;
const startedAt = performance.now();
let readySince: number | undefined;

async function isReady(): Promise<boolean> {
  try {
    const response = await fetch(address, { signal: AbortSignal.timeout(2_000) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}

for (;;) {
  const isUp = await isReady();
  const now = performance.now();
  readySince = isUp ? readySince ?? now : undefined;
  if (readySince !== undefined && now - readySince >= lasting * 1000) Deno.exit(0);
  if (readySince === undefined && now - startedAt >= within * 1000) Deno.exit(1);
  await new Promise((resolve) => setTimeout(resolve, 100));
}
