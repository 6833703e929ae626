/** The store by messages, over the embedded engine. */
import { MessageLink, webPort } from "../../../../core/lib/threads/message_link.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import {
  MessageStore,
  passedReadsOf,
  storeErrorOf,
  type StoreServices,
  storeServices,
} from "../../../../kv/engine/messages/message_store.ts";
import { type Fault, faultyKv } from "../../../support/stores/faulty_kv.ts";
import { testEngine } from "./conformance.ts";
import { testLostAnswers } from "./lost_answers.ts";

/** Clients of a store, each with a link of its own. */
function clientsOf(kv: KeyValueStore, count: number): Disposable & {
  readonly clients: readonly MessageStore[];
} {
  const links: MessageLink<StoreServices>[] = [];
  const clients = Array.from({ length: count }, () => {
    const { port1, port2 } = new MessageChannel();
    const link = new MessageLink<StoreServices>(webPort(port1), {}, { errorOf: storeErrorOf });
    links.push(link, new MessageLink(webPort(port2), storeServices(kv)));
    return new MessageStore(link, passedReadsOf(kv));
  });
  return {
    clients,
    [Symbol.dispose]() {
      for (const link of links) link.end();
    },
  };
}

testEngine("embedded engine by messages", async () => {
  const kv = await Deno.openKv(":memory:");
  const { clients, [Symbol.dispose]: end } = clientsOf(kv, 3);
  return {
    clients,
    [Symbol.asyncDispose]() {
      end();
      kv.close();
      return Promise.resolve();
    },
  };
});

for (const fault of ["before", "after"] satisfies Fault[]) {
  const name = `embedded engine by messages, failing ${fault} a call`;
  testLostAnswers(name, { refusedIsUnwritten: true }, async () => {
    const kv = await Deno.openKv(":memory:");
    let isOn = false;
    let calls = 0;
    let faults = 0;
    const faulty = faultyKv(kv, () => {
      if (!isOn || ++calls % 6 !== 0) return "none";
      faults++;
      return fault;
    });
    const { clients, [Symbol.dispose]: end } = clientsOf(faulty, 2);
    return {
      clients,
      sound: kv,
      begin: () => void (isOn = true),
      end: () => Promise.resolve(void (isOn = false)),
      get faults() {
        return faults;
      },
      [Symbol.asyncDispose]() {
        end();
        return Promise.resolve(kv.close());
      },
    };
  });
}
