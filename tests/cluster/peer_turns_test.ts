/** Turns of the Responses style that one of two gateways on one store keeps, continued, read and removed at the other. */
import OpenAI from "openai";
import { assert, assertEquals } from "../support/assert.ts";
import { sealQuestion } from "../../core/calls/request/peer_turns.ts";
import type { AccountId } from "../../core/lib/ids/ids.ts";
import { newMasterKey, readMasterKeys } from "../../core/people/api_keys/seal.ts";
import { newAdminPayer } from "../support/gateways/admin_payer.ts";
import { startGateway, type StartOptions } from "../support/gateways/started_gateway.ts";
import { freePort } from "../support/servers/free_port.ts";
import { clusterEngines } from "./stores.ts";

const model = "premium-1";

/** An error of a call, as its client tells them apart. */
async function refused(call: Promise<unknown>): Promise<readonly unknown[]> {
  const error = await call.then(() => undefined, (error) => error);
  assert(error instanceof OpenAI.APIError, String(error));
  return [error.status, error.code];
}

const unknown = [400, "previous_response_not_found"];

for (const { name, missing, start } of clusterEngines) {
  Deno.test({
    name: `${name}: turns are found at the other instance${missing ? ` (needs: ${missing})` : ""}`,
    ignore: missing !== undefined,
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      await using store = await start();
      const masterKey = newMasterKey();
      const startOne = (more: StartOptions["env"]) =>
        startGateway({
          env: { ...store.env(store.port), GATEWAY_MASTER_KEYS: masterKey, ...more },
        });
      const named = (port = freePort()) => ({
        PORT: String(port),
        GATEWAY_PEER_ADDRESS: `http://127.0.0.1:${port}`,
      });
      await using alone = await startOne({});
      // A turn may be in any thread of its instance.
      await using first = await startOne({ ...named(), GATEWAY_WORKERS: "2" });
      await using second = await startOne(named());
      const payer = await newAdminPayer(alone, 1_000_000);
      const stranger = await newAdminPayer(alone, 1_000_000);
      const at = ({ address }: { readonly address: string }, { key } = payer) =>
        new OpenAI({ baseURL: `${address}/v1`, apiKey: key, maxRetries: 0 }).responses;

      // Each turn at the other instance than the one before, whole and streamed.
      const one = await at(second).create({ model, input: "first words" });
      const next = { model, input: "second words", previous_response_id: one.id };
      const two = await at(first).create(next);
      assertEquals(two.usage, (await at(second).create(next)).usage);
      const three = await at(second).stream({
        model,
        input: "third words",
        previous_response_id: two.id,
      }).finalResponse();
      assert(three.usage!.input_tokens > two.usage!.input_tokens);
      assertEquals(three.previous_response_id, two.id);
      const itemsOf = async (responses: OpenAI["responses"]) =>
        await Array.fromAsync(responses.inputItems.list(three.id, { limit: 2 }));
      const items = await itemsOf(at(second));
      assertEquals([items.length, await itemsOf(at(first))], [5, items]);
      assertEquals((await at(first).retrieve(three.id)).output_text, three.output_text);

      // Not for another account, and not where an instance has no address.
      for (const responses of [at(first, stranger), at(alone)]) {
        assertEquals(await refused(responses.create(next)), unknown);
        assertEquals(await refused(responses.retrieve(one.id)), [404, "not_found"]);
        assertEquals(await refused(responses.delete(one.id)), [404, "not_found"]);
      }
      assertEquals((await at(second).retrieve(one.id)).id, one.id);

      // What is not sealed, or comes again, or for another address, is answered as an unknown path is.
      const keys = await readMasterKeys(masterKey);
      const ask = async (body: string, path = "/peers/turns") => {
        const response = await fetch(`${second.address}${path}`, { method: "POST", body });
        const text = await response.text();
        return [response.status, text.replaceAll(/req_\w+/g, "").replaceAll(path, "")];
      };
      const asked = { act: "read", account: payer.id as AccountId, id: one.id } as const;
      const seal = (address = second.address, nowMs = Date.now()) =>
        sealQuestion(keys, asked, { address, nowMs });
      const { sealed } = await seal();
      const [status, answer] = await ask(sealed);
      assert(status === 200 && !String(answer).includes("first words"));
      const tampered = sealed.replace(/.(?=.{5}$)/, (letter) => letter === "a" ? "b" : "a");
      const notFound = await ask("", "/peers/turnz");
      for (
        const wrong of [
          sealed,
          tampered,
          "",
          "x".repeat(100_000),
          (await seal(first.address)).sealed,
          (await seal(second.address, Date.now() - 60_000)).sealed,
        ]
      ) {
        assertEquals(await ask(wrong), notFound);
      }

      // Removed at one, it is gone at both; what led to later turns stays with them.
      await at(first).delete(one.id);
      for (const gateway of [first, second]) {
        assertEquals(await refused(at(gateway).retrieve(one.id)), [404, "not_found"]);
        assertEquals(await refused(at(gateway).delete(one.id)), [404, "not_found"]);
        assertEquals(await refused(at(gateway).create(next)), unknown);
      }

      // With a killed instance its turns are gone. That one is removed is said only if it is known.
      await second.end("SIGKILL");
      const last = { model, input: "more", previous_response_id: three.id };
      assertEquals(await refused(at(first).create(last)), unknown);
      assertEquals(await refused(at(first).retrieve(three.id)), [404, "not_found"]);
      assertEquals(await refused(at(first).delete(three.id)), [503, "busy"]);
      const { code, output } = await alone.admin("verify");
      assertEquals(code, 0, output);
      const logs = [alone, first, second].flatMap(({ log }) => log).join("\n");
      assert(logs.includes("instances do not answer each other"));
      for (const secret of [sealed, masterKey, "words", one.id]) assert(!logs.includes(secret));
    },
  });
}
