/** The errors of each engine that mean that the store is away, and those that do not. */
import postgres from "postgres";
import { assert, assertEquals } from "../../support/assert.ts";
import { UpstreamFailure } from "../../../core/net/transport/transport.ts";
import { Deadlines } from "../../../core/lib/time/deadlines.ts";
import { embeddedOutage } from "../../../kv/engine/opening/store.ts";
import { kvConnectOutage } from "../../../kv/engine/kv_connect/client.ts";
import { KvConnectError } from "../../../kv/engine/kv_connect/messages.ts";
import { postgresOutage } from "../../../kv/engine/postgres/outages.ts";
import { withDeadlines } from "../../../kv/engine/store/store_deadlines.ts";
import {
  type OutageKind,
  type OutageOf,
  StoreUnavailableError,
} from "../../../kv/engine/store/store_unavailable.ts";
import { breakStore, storeCalls } from "../../support/stores/broken_store.ts";
import { ManualTime } from "../../support/manual_time.ts";

const driver = (code: string) => Object.assign(new Error(`write ${code} db:5432`), { code });
/** As the driver makes it of a message of the server; its constructor is typed as one without that message. */
const server = (code: string): Error =>
  Object.assign(Object.create(postgres.PostgresError.prototype), { code, message: "of a server" });

type Case = readonly [error: Error, kind: OutageKind | undefined];

const postgresCases: readonly Case[] = [
  ...["CONNECT_TIMEOUT", "ECONNREFUSED", "EHOSTUNREACH", "ENOTFOUND"]
    .map((code): Case => [driver(code), "unreachable"]),
  ...["CONNECTION_CLOSED", "CONNECTION_DESTROYED", "CONNECTION_ENDED", "ECONNRESET", "EPIPE"]
    .map((code): Case => [driver(code), "connection_lost"]),
  [server("08006"), "connection_lost"],
  [server("08P01"), "connection_lost"],
  [server("25006"), "takes_no_writes"],
  [server("28P01"), "refused"],
  [server("3D000"), "refused"],
  [server("40001"), "overloaded"],
  [server("53100"), "no_room"],
  [server("53300"), "overloaded"],
  [server("57014"), "no_answer"],
  [server("57P01"), "stopping"],
  [server("57P03"), "stopping"],
  [server("58030"), "engine_failed"],
  [server("XX001"), "damaged"],
  [server("XX002"), "damaged"],
  [server("XX000"), undefined],
  [server("42P01"), undefined],
  [server("22P02"), undefined],
  [new TypeError("Too many checks"), undefined],
];

const kvConnectCases: readonly Case[] = [
  [new UpstreamFailure("connect", "no connection"), "unreachable"],
  [new UpstreamFailure("timeout", "silent"), "unreachable"],
  [new KvConnectError("The store answered with status 403"), "refused"],
  [new TypeError("Too many ranges"), undefined],
];

const embeddedCases: readonly Case[] = [
  [new Error("an error of a hosted store"), "engine_failed"],
  [new TypeError("disk I/O error"), "engine_failed"],
  [new TypeError("database disk image is malformed"), "damaged"],
  [new TypeError("file is not a database"), "damaged"],
  [new TypeError("database or disk is full"), "no_room"],
  [new TypeError("attempt to write a readonly database"), "takes_no_writes"],
  [new TypeError("database is locked"), "overloaded"],
  [new TypeError("Value too large"), undefined],
  [new Deno.errors.BadResource("closed"), undefined],
];

const engines: readonly (readonly [name: string, outageOf: OutageOf, cases: readonly Case[]])[] = [
  ["PostgreSQL", postgresOutage, postgresCases],
  ["KV Connect", kvConnectOutage, kvConnectCases],
  ["the embedded engine", embeddedOutage, embeddedCases],
];

for (const [name, outageOf, cases] of engines) {
  Deno.test(`${name}: every call fails with the kind of the outage, or with the caller's error`, async () => {
    for (const [error, kind] of cases) {
      const engine = await Deno.openKv(":memory:");
      breakStore(engine, storeCalls, () => Promise.reject(error));
      const time = new ManualTime();
      const deadlines = new Deadlines({ clock: time, timer: time });
      using kv = withDeadlines(engine, deadlines, outageOf);
      const calls = [
        () => kv.get(["row"]),
        () => kv.getMany([["row"]]),
        () => kv.set(["row"], 1),
        () => kv.delete(["row"]),
        () => kv.list({ prefix: ["row"] }).next(),
        () => kv.atomic().set(["row"], 1).commit(),
      ];
      for (const call of calls) {
        const thrown: unknown = await call().catch((error: unknown) => error);
        if (kind === undefined) {
          assertEquals(thrown, error);
          continue;
        }
        assert(thrown instanceof StoreUnavailableError, error.message);
        assertEquals(
          [thrown.kind, thrown.status, thrown.type, thrown.retryAfterSeconds],
          [kind, 503, "service_unavailable", 2],
          error.message,
        );
        assertEquals(thrown.message, "The store does not answer at the moment; try again");
      }
      deadlines.close();
    }
  });
}
