/** Starts a thread that serves calls. Threads of `node:worker_threads` tell of every end, and have a bound of memory. */
import { type Transferable, Worker } from "node:worker_threads";
import { getHeapStatistics } from "node:v8";
import { unforeseen } from "../../../core/lib/base/assert.ts";
import { type LinkPort, webPort } from "../../../core/lib/threads/message_link.ts";
import type { PassedRead } from "../../../kv/engine/messages/message_store.ts";
import type { ConfigSource } from "../assembly/assemble.ts";

/** Message with which a worker begins. */
export interface WorkerStart {
  /** From 1 on; a worker that replaces another has its number. */
  readonly number: number;
  readonly workers: number;
  readonly source: ConfigSource;
  /** The port that all workers listen at. */
  readonly port: number;
  /** The address in links and pages. */
  readonly baseUrl: string;
  /** Readings that the owner's store adds to those of every store. */
  readonly storeReads: readonly PassedRead[];
}

/** A running thread, as its owner sees it. */
export interface WorkerThread {
  readonly port: LinkPort;
  /** Resolves with the reason when the thread has ended, however that came. */
  readonly ended: Promise<string>;
  /** Ends the thread at once. Its calls are cut. */
  terminate(): void;
}

const megabyte = 1024 * 1024;

/**
 * MB of the heap at which a worker ends: without a bound of its own it would end the process. Buffers of bodies are
 * outside of the heap.
 */
function heapMb(): number {
  return Math.floor(getHeapStatistics().heap_size_limit / megabyte);
}

/** Starts a worker. */
export function startWorkerThread(start: WorkerStart): WorkerThread {
  // Not a channel of Node: its ports search every message for further ports, which costs more than reading it.
  const { port1, port2 } = new MessageChannel();
  // The runtime has one kind of port, for which Node's types have another name.
  const transferred: object = port2;
  const worker = new Worker(new URL("./entry.ts", import.meta.url), {
    workerData: { ...start, channel: port2 },
    transferList: [transferred as Transferable],
    resourceLimits: { maxOldGenerationSizeMb: heapMb() },
  });
  const ended = Promise.withResolvers<string>();
  let reason: string | undefined;
  worker.on("error", (error: unknown) => reason = unforeseen(error).error);
  worker.on("exit", (code) => ended.resolve(reason ?? `it exited with code ${code}`));
  return { port: webPort(port1), ended: ended.promise, terminate: () => void worker.terminate() };
}
