/**
 * Lists, searches and exports of a running gateway ask PostgreSQL a few times, however many calls they have: each
 * question is a round trip, so that one for each call would take seconds on a store some milliseconds away.
 */
import { assert, assertEquals } from "../support/assert.ts";
import { newMasterKey } from "../../core/people/api_keys/seal.ts";
import { startGateway } from "../support/gateways/started_gateway.ts";
import { postgresPrograms, startPostgres } from "../support/servers/postgres_server.ts";
import { startTcpProxy } from "../support/servers/tcp_proxy.ts";
import { bearerPost } from "../support/api_post.ts";
import { until } from "../support/until.ts";

const programs = await postgresPrograms();

const calls = 130;

/** Questions of one read: where it goes, its rows, their receipts, and refused calls, some of them twice. */
const maxQuestions = 12;

for (const workers of ["1", "2"]) {
  Deno.test({
    name: `${workers} serving threads: reads of ${calls} calls are a few questions to the store`,
    ignore: programs === undefined,
    async fn() {
      await using server = await startPostgres(programs ?? "");
      await using proxy = startTcpProxy(server.port);
      const url = server.url.replace(`:${server.port}/`, `:${proxy.port}/`);
      await using gateway = await startGateway({
        env: { GATEWAY_KV: url, GATEWAY_MASTER_KEYS: newMasterKey(), GATEWAY_WORKERS: workers },
      });
      const headers = { authorization: `Bearer ${gateway.key}` };
      const read = async (path: string) => {
        const answer = await fetch(gateway.address + path, { headers });
        const text = await answer.text();
        assertEquals(answer.status, 200, text);
        return text;
      };
      for (let at = 0; at < calls; at++) {
        const body = { model: "fast", messages: [{ role: "user", content: "Hi" }] };
        const url = `${gateway.address}/v1/chat/completions`;
        const answer = await fetch(bearerPost(url, gateway.key, body));
        assertEquals(answer.status, 200, await answer.text());
      }
      const listed = async () => JSON.parse(await read("/v1/calls?limit=200")).data.length;
      await until(async () => await listed() === calls, "all calls in the list");
      for (
        const path of [
          "/v1/calls?limit=200",
          "/v1/receipts?limit=200",
          "/v1/calls?limit=200&status=502",
          "/v1/usage/export?format=csv",
        ]
      ) {
        // What the gateway asks by itself meanwhile counts, too: the quietest of some reads has least of it.
        let least = Infinity;
        for (let round = 0; round < 5; round++) {
          const before = proxy.sent;
          await read(path);
          least = Math.min(least, proxy.sent - before);
        }
        assert(least <= maxQuestions, `${path}: ${least} questions to the store`);
      }
    },
  });
}
