/**
 * Reads the bytes of a stream for the strict client of every style. It shares no code with the gateway's reader on
 * purpose: an error in one of them then shows as a difference.
 */

/** The stream or answer is not what the client of its style accepts. */
export class StrictClientError extends Error {
  override name = "StrictClientError";
}

/** @throws {StrictClientError} if `condition` is false */
export function accept(condition: boolean, complaint: string): asserts condition {
  if (!condition) throw new StrictClientError(complaint);
}

export interface StrictEvent {
  /** Value of the `event:` line. */
  readonly name: string | undefined;
  readonly data: string;
}

/**
 * Reads a whole stream into its events. Comments are skipped.
 *
 * @throws {StrictClientError} if the bytes are not UTF-8, a line is no field, or the last event is not closed
 */
export function readEvents(bytes: Uint8Array): StrictEvent[] {
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new StrictClientError("the stream is not UTF-8");
  }
  accept(text === "" || text.endsWith("\n\n"), `the last event is not closed: ${text.slice(-80)}`);
  return text.split("\n\n").flatMap((frame) => readFrame(frame));
}

function readFrame(frame: string): StrictEvent[] {
  let name: string | undefined;
  const data: string[] = [];
  for (const line of frame.split("\n")) {
    if (line === "" || line.startsWith(":")) continue;
    const field = /^(event|data): ?(.*)$/s.exec(line);
    accept(field !== null, `no field: ${line.slice(0, 80)}`);
    if (field[1] === "event") name = field[2];
    else data.push(field[2] ?? "");
  }
  if (data.length === 0) {
    accept(name === undefined, `event ${name} without data`);
    return [];
  }
  return [{ name, data: data.join("\n") }];
}

/** Parses the data of an event. */
export function parseData(event: StrictEvent): unknown {
  try {
    return JSON.parse(event.data);
  } catch {
    throw new StrictClientError(`the data is not JSON: ${event.data.slice(0, 80)}`);
  }
}

/** Joins chunks as a client's socket would. */
export function concatBytes(chunks: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    joined.set(chunk, at);
    at += chunk.length;
  }
  return joined;
}
