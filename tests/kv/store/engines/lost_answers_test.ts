/** The engines behind a way that loses, doubles and delays what passes. */
import { systemClock } from "../../../../core/lib/time/clock.ts";
import { KvConnectStore } from "../../../../kv/engine/kv_connect/kv_connect_store.ts";
import { openPostgres } from "../../../../kv/engine/postgres/open_postgres.ts";
import { denokvProgram, startDenokv } from "../../../support/servers/denokv_server.ts";
import {
  type KvConnectFate,
  startKvConnectProxy,
} from "../../../support/servers/kv_connect_proxy.ts";
import { postgresPrograms, startPostgres } from "../../../support/servers/postgres_server.ts";
import { startTcpProxy } from "../../../support/servers/tcp_proxy.ts";
import { type Fault, faultyKv } from "../../../support/stores/faulty_kv.ts";
import { testLostAnswers } from "./lost_answers.ts";

/** One in so many calls meets a fault. */
const faultEvery = 6;

/** Decides which calls meet a fault, and counts them. */
class Faults {
  count = 0;
  #calls = 0;
  #isOn = false;

  begin(): void {
    this.#isOn = true;
  }

  end(): void {
    this.#isOn = false;
  }

  /** Whether this call meets one. */
  next(): boolean {
    if (!this.#isOn || ++this.#calls % faultEvery !== 0) return false;
    this.count++;
    return true;
  }
}

for (const fault of ["before", "after"] satisfies Fault[]) {
  testLostAnswers(
    `embedded engine, failing ${fault} a call`,
    { refusedIsUnwritten: true },
    async () => {
      const kv = await Deno.openKv(":memory:");
      const faults = new Faults();
      const faulty = faultyKv(kv, () => faults.next() ? fault : "none");
      return {
        clients: [faulty, faulty],
        sound: kv,
        begin: () => faults.begin(),
        end: () => Promise.resolve(faults.end()),
        get faults() {
          return faults.count;
        },
        [Symbol.asyncDispose]: () => Promise.resolve(kv.close()),
      };
    },
  );
}

const denokv = await denokvProgram();

for (
  const fate of denokv === undefined ? [] : ["lost", "doubled", "late"] satisfies KvConnectFate[]
) {
  testLostAnswers(`denokv, ${fate} calls`, { refusedIsUnwritten: false }, async () => {
    const server = await startDenokv(denokv ?? "");
    const proxy = startKvConnectProxy(server.port);
    const faults = new Faults();
    proxy.fateOf = () => faults.next() ? fate : "answered";
    const { accessToken } = server;
    const open = (port: number) =>
      KvConnectStore.open({ url: `http://127.0.0.1:${port}`, accessToken, clock: systemClock });
    const clients = await Promise.all([1, 2, 3].map(() => open(proxy.port)));
    const sound = await open(server.port);
    return {
      clients,
      sound,
      begin: () => faults.begin(),
      async end() {
        faults.end();
        await proxy.settled();
      },
      get faults() {
        return faults.count;
      },
      async [Symbol.asyncDispose]() {
        for (const kv of [...clients, sound]) kv.close();
        await proxy[Symbol.asyncDispose]();
        await server[Symbol.asyncDispose]();
      },
    };
  });
}

const programs = await postgresPrograms();

if (programs !== undefined) {
  const server = await startPostgres(programs);
  Deno.test.afterAll(async () => await server[Symbol.asyncDispose]());
  testLostAnswers("PostgreSQL, cut connections", { refusedIsUnwritten: true }, async () => {
    const url = await server.makeDatabase();
    const proxy = startTcpProxy(server.port);
    const faults = new Faults();
    const open = (url: string) =>
      openPostgres({ url, clock: systemClock, announcedKinds: new Set() });
    const through = url.replace(`:${server.port}/`, `:${proxy.port}/`);
    const [{ kv: sound }, ...faulty] = await Promise.all([
      open(url),
      ...[1, 2, 3].map(() => open(through)),
    ]);
    const clients = faulty.map(({ kv }) => kv);
    proxy.cutsAnswer = () => faults.next();
    return {
      clients,
      sound,
      begin: () => faults.begin(),
      end: () => Promise.resolve(faults.end()),
      get faults() {
        return faults.count;
      },
      async [Symbol.asyncDispose]() {
        for (const kv of [...clients, sound]) await kv.end();
        await proxy[Symbol.asyncDispose]();
      },
    };
  });
}
