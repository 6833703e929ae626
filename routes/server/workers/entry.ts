/** The program of a serving thread. Only `worker_thread.ts` starts it. */
import { workerData } from "node:worker_threads";
import { webPort } from "../../../core/lib/threads/message_link.ts";
import { runWorker } from "./worker.ts";

const { channel, ...start } = workerData;
await runWorker(start, webPort(channel));
