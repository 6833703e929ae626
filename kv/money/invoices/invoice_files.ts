/**
 * Stores the files of an invoice in parts that fit the store. The bytes are written first, the row
 * that names them last.
 */
import type { InvoiceId } from "../../../core/lib/ids/ids.ts";
import { sha256Hex } from "../../../core/lib/hash/sha256.ts";
import type { InvoiceFile } from "../../../core/trade/invoices/invoice.ts";
import { getInvoice, maxInvoiceFiles, setInvoiceFiles } from "./invoices.ts";
import { invoiceFileChunkKey, invoiceFilePrefix } from "../../engine/schema/keys.ts";
import type { Operator } from "../../people/audit/operator_audit.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";

/**
 * Bytes per row of an invoice file: a value has at most 64 KiB, and the rest is for the framing of
 * the store.
 */
const invoiceFilePartBytes = 60_000;

/** Most bytes of one invoice file: a signed invoice is under 500 KB. */
const maxInvoiceFileBytes = 2 * 1024 * 1024;

/** The result of attaching a file. */
export type AttachResult =
  | { readonly ok: true; readonly file: InvoiceFile }
  | { readonly ok: false; readonly why: "missing" | "type" | "size" | "count" | "busy" };

/** Detects the type of a file from its first bytes; its name proves nothing. */
function fileType(bytes: Uint8Array): InvoiceFile["type"] | undefined {
  const head = new TextDecoder().decode(bytes.subarray(0, 64));
  if (head.startsWith("%PDF-")) return "application/pdf";
  return head.replace(/^\ufeff/, "").trimStart().startsWith("<?xml")
    ? "application/xml"
    : undefined;
}

/** Removes paths, control characters and quotes from a file name. */
function tidyName(name: string, type: InvoiceFile["type"]): string {
  const plain = name.split(/[/\\]/).at(-1)!.replace(/[^\p{L}\p{N}._ -]/gu, "").trim().slice(-100);
  return plain === "" ? `invoice.${type === "application/pdf" ? "pdf" : "xml"}` : plain;
}

/** Computes the id of a file from its content, so that a form sent twice attaches its file once. */
async function fileIdOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return (await sha256Hex(bytes)).slice(0, 24);
}

/** Attaches a PDF or XML file to a request, the same file only once. */
export async function attachInvoiceFile(
  kv: KeyValueStore,
  input: {
    readonly id: InvoiceId;
    readonly name: string;
    readonly bytes: Uint8Array<ArrayBuffer>;
    readonly operator: Operator;
    readonly nowMs: number;
  },
): Promise<AttachResult> {
  const type = fileType(input.bytes);
  if (type === undefined) return { ok: false, why: "type" };
  if (input.bytes.length > maxInvoiceFileBytes) return { ok: false, why: "size" };
  const entry = await getInvoice(kv, input.id);
  if (entry.value === null) return { ok: false, why: "missing" };
  const fileId = await fileIdOf(input.bytes);
  const earlier = entry.value.files.find((file) => file.fileId === fileId);
  if (earlier !== undefined) return { ok: true, file: earlier };
  if (entry.value.files.length >= maxInvoiceFiles) return { ok: false, why: "count" };
  const parts = Math.ceil(input.bytes.length / invoiceFilePartBytes);
  for (let part = 0; part < parts; part++) {
    const from = part * invoiceFilePartBytes;
    const slice = input.bytes.slice(from, from + invoiceFilePartBytes);
    await kv.set(invoiceFileChunkKey(input.id, fileId, part), slice);
  }
  const file: InvoiceFile = {
    fileId,
    name: tidyName(input.name, type),
    type,
    bytes: input.bytes.length,
    parts,
  };
  const kept = await setInvoiceFiles(kv, entry, {
    files: [...entry.value.files, file],
    operator: input.operator,
    detail: file.name,
    nowMs: input.nowMs,
  });
  return kept ? { ok: true, file } : { ok: false, why: "busy" };
}

/** Reads the bytes of a file; `undefined` if a part is missing. */
export async function readInvoiceFile(
  kv: KeyValueStore,
  id: InvoiceId,
  file: InvoiceFile,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const bytes = new Uint8Array(file.bytes);
  let at = 0;
  let parts = 0;
  for await (
    const { value } of kv.list<Uint8Array>({ prefix: invoiceFilePrefix(id, file.fileId) })
  ) {
    if (at + value.length > bytes.length) return undefined;
    bytes.set(value, at);
    at += value.length;
    parts++;
  }
  return at === file.bytes && parts === file.parts ? bytes : undefined;
}
