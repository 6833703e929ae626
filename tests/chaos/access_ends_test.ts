/** Access ends while a call runs: its stream ends, charged for what was produced, and the next call is refused. */
import { assert, assertEquals } from "../support/assert.ts";
import { formatVnd, fromVnd } from "../../core/billing/money/micro_vnd.ts";
import {
  askAdmin,
  balanceVnd,
  beginStream,
  newPayer,
  onStore,
  OperatorBrowser,
  type Payer,
  seedOperators,
  startMoneyGateway,
  withStoreFolder,
} from "../support/worlds/money_process.ts";

const processes = { sanitizeOps: false, sanitizeResources: false };
const startVnd = 50_000;
/** The sandbox takes a minute and a half to repeat it: no machine is so slow that a stream comes to its own end. */
const said = `[[sandbox:pace 500]] ${"tell me of rivers ".repeat(45)}`;

Deno.test(
  "an account is blocked and a key revoked while their calls stream: both streams end, charged for what was produced",
  processes,
  () =>
    withStoreFolder(async (folder) => {
      const sessions = await onStore(folder, seedOperators);
      await using gateway = await startMoneyGateway(folder);
      const boss = await new OperatorBrowser(gateway, sessions[0]!).passSecondFactor();
      const blocked = await newPayer(gateway, startVnd);
      const revoked = await newPayer(gateway, startVnd);
      const accessEnds = [
        async ({ accountId }: Payer) =>
          assert(await boss.act(`/operator/accounts/${accountId}/block`, { reason: "abuse" })),
        ({ accountId, keyId }: Payer) =>
          askAdmin(gateway, "DELETE", `/accounts/${accountId}/keys/${keyId}`),
      ];
      await Promise.all([blocked, revoked].map(async (payer, i) => {
        const response = await beginStream(gateway, payer.key, said);
        const requestId = response.headers.get("x-request-id")!;
        const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
        let text = (await reader.read()).value ?? "";
        await accessEnds[i]!(payer);
        for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
          text += piece.value;
        }
        assert(!text.includes("[DONE]"));
        assert(text.trimEnd().split("\n\n").at(-1)?.includes("invalid_api_key"), text.slice(-300));
        const next = await beginStream(gateway, payer.key, "hello");
        // A blocked account is told so; a revoked key is as good as none.
        assertEquals(next.status, [403, 401][i]);
        await next.body?.cancel();
        const { output } = await gateway.admin("export");
        const line = output.split("\n").find((row) => row.includes(`["receipt","${requestId}"]`));
        const { value: receipt } = JSON.parse(line ?? "{}");
        assertEquals([receipt.outcome, receipt.status], ["cut", 200]);
        const cost = BigInt(receipt.costMicroVnd);
        assert(cost > 0n, line);
        const left = await balanceVnd(gateway, payer.accountId);
        assertEquals(left, formatVnd(fromVnd(startVnd) - cost));
      }));
      const verified = await gateway.admin("verify");
      assertEquals(verified.code, 0, verified.output);
    }),
);
