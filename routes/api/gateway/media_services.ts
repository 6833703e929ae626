/** The services that media calls need besides the rest of the gateway. */
import type { FetchDocument } from "../../../core/calls/request/remote_documents.ts";
import type { Clock } from "../../../core/lib/time/clock.ts";
import type { Deadlines } from "../../../core/lib/time/deadlines.ts";
import {
  documentMediaTypes,
  fetchRemoteMedia,
  type GuardedFetchWorld,
  imageMediaTypes,
} from "../../../core/net/remote/guarded_fetch.ts";
import { createGuardedTransport, type Resolve } from "../../../core/net/remote/guarded_connect.ts";
import type { Driver, Transport } from "../../../core/net/transport/transport.ts";
import { PublicNames } from "../../../core/net/remote/public_names.ts";
import type { UpstreamBodyTools } from "../../../core/media/base/exchange.ts";
import { createHttp1Transport } from "../../../core/net/http1/transport.ts";
import type { Connect } from "../../../core/net/transport/connection.ts";
import { createWakeUp, type WakeUp } from "../../../kv/engine/outbox/outbox_worker.ts";
import { guardedConnect, openFetchTransport, resolveWithDeno } from "../../process/deno_connect.ts";

/** The services of media calls. */
export interface MediaServices {
  /** Reaches public addresses only: for URLs of clients, and for files that providers store elsewhere. */
  readonly remote: GuardedFetchWorld;
  readonly tools: UpstreamBodyTools;
  /** Fetches a document of a chat request. */
  readonly fetchDocument: FetchDocument;
  /** Checks the host names in URLs that providers fetch. */
  readonly names: PublicNames;
  /** Wakes outbox workers when a row was written. */
  readonly wakeUp: WakeUp;
  close(): void;
}

/** The network as the guarded fetcher sees it. */
export interface GuardedNetwork {
  readonly connect: Connect;
  readonly resolve: Resolve;
}

/** Opens the transport to addresses that customers name, which are checked first. */
function openGuardedTransport(
  driver: Driver,
  deadlines: Deadlines,
  { connect, resolve }: GuardedNetwork,
): { readonly transport: Transport; readonly close: () => void } {
  if (driver === "fetch") {
    const { transport, close } = openFetchTransport({ deadlines });
    return { transport: createGuardedTransport(transport, resolve), close };
  }
  const transport = createHttp1Transport({ connect, deadlines, idleConnectionsPerOrigin: 0 });
  return { transport, close: () => transport.close() };
}

/** Opens the services. `network` is for tests. */
export function openMediaServices(
  { clock, deadlines, driver = "http1", isTold = false, announce }: {
    readonly clock: Clock;
    readonly deadlines: Deadlines;
    /** Driver for addresses that customers name. */
    readonly driver?: Driver;
    /** Whether notices of other processes arrive. */
    readonly isTold?: boolean;
    /** Tells other processes that a row of the outbox was written, where the store does not. */
    readonly announce?: (() => void) | undefined;
  },
  network: GuardedNetwork = { connect: guardedConnect(), resolve: resolveWithDeno },
): MediaServices {
  const { transport, close } = openGuardedTransport(driver, deadlines, network);
  const remote: GuardedFetchWorld = { transport, deadlines };
  return {
    remote,
    tools: {
      fetchImage: (url, field, counter) =>
        fetchRemoteMedia(remote, url, {
          field,
          accepts: imageMediaTypes,
          ...(counter && { counter }),
        }),
      newBoundary: () => crypto.randomUUID().replaceAll("-", ""),
    },
    fetchDocument: (url, bounds) =>
      fetchRemoteMedia(remote, url, {
        ...bounds,
        accepts: bounds.kind === "picture" ? imageMediaTypes : documentMediaTypes,
      }),
    names: new PublicNames({ resolve: network.resolve, clock, deadlines }),
    wakeUp: createWakeUp({ isTold, announce }),
    close,
  };
}
