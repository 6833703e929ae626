/** Requests and answers of KV Connect: https://github.com/denoland/denokv/blob/main/proto/kv-connect.md. */
import { FieldWriter, readFields } from "../../../../kv/engine/kv_connect/messages.ts";

export interface ReadRange {
  readonly start: Uint8Array;
  readonly end: Uint8Array;
  readonly limit: number;
  readonly reverse: boolean;
}

export interface Row {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
  readonly encoding: number;
  readonly versionstamp: Uint8Array;
}

export interface Check {
  readonly key: Uint8Array;
  /** Empty: the row must not be there. */
  readonly versionstamp: Uint8Array;
}

/** `value` is undefined in a deletion. */
export interface Mutation {
  readonly key: Uint8Array;
  readonly value: { readonly bytes: Uint8Array; readonly encoding: number } | undefined;
}

export interface AtomicWrite {
  readonly checks: readonly Check[];
  readonly mutations: readonly Mutation[];
}

/** An invalid request; the client gets 400. */
export class ProtocolError extends Error {
  override name = "ProtocolError";
}

const empty: Uint8Array = new Uint8Array();

function readRange(message: Uint8Array): ReadRange {
  const range = { start: empty, end: empty, limit: 0, reverse: false };
  for (const { number, bytes, value } of readFields(message)) {
    if (number === 1) range.start = bytes;
    else if (number === 2) range.end = bytes;
    else if (number === 3) range.limit = value;
    else if (number === 4) range.reverse = value === 1;
  }
  return range;
}

export function readSnapshotRead(message: Uint8Array): ReadRange[] {
  return readFields(message).filter(({ number }) => number === 1)
    .map(({ bytes }) => readRange(bytes)).toArray();
}

export function writeSnapshot(ranges: readonly (readonly Row[])[]): Uint8Array {
  const output = new FieldWriter();
  for (const rows of ranges) {
    const range = new FieldWriter();
    for (const { key, value, encoding, versionstamp } of rows) {
      const entry = new FieldWriter().bytes(1, key).bytes(2, value).number(3, encoding)
        .bytes(4, versionstamp);
      range.bytes(1, entry.finish());
    }
    output.bytes(1, range.finish());
  }
  return output.number(4, 1).number(8, 1).finish();
}

function readCheck(message: Uint8Array): Check {
  const check = { key: empty, versionstamp: empty };
  for (const { number, bytes } of readFields(message)) {
    if (number === 1) check.key = bytes;
    else if (number === 2) check.versionstamp = bytes;
  }
  return check;
}

function readMutation(message: Uint8Array): Mutation {
  let key = empty;
  let type = 0;
  const value = { bytes: empty, encoding: 0 };
  for (const { number, bytes, value: numeric } of readFields(message)) {
    if (number === 1) key = bytes;
    else if (number === 3) type = numeric;
    else if (number === 2) {
      for (const field of readFields(bytes)) {
        if (field.number === 1) value.bytes = field.bytes;
        else if (field.number === 2) value.encoding = field.value;
      }
    }
  }
  if (type !== 1 && type !== 2) throw new ProtocolError(`no mutation of type ${type} here`);
  return { key, value: type === 1 ? value : undefined };
}

export function readAtomicWrite(message: Uint8Array): AtomicWrite {
  const checks: Check[] = [];
  const mutations: Mutation[] = [];
  for (const { number, bytes } of readFields(message)) {
    if (number === 1) checks.push(readCheck(bytes));
    else if (number === 2) mutations.push(readMutation(bytes));
    else throw new ProtocolError("KV Connect has no queues");
  }
  return { checks, mutations };
}

/** @param versionstamp of the commit; undefined: a check failed */
export function writeAtomicOutput(versionstamp: Uint8Array | undefined): Uint8Array {
  return versionstamp === undefined
    ? new FieldWriter().number(1, 2).finish()
    : new FieldWriter().number(1, 1).bytes(2, versionstamp).finish();
}
