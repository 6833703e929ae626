/** The table of errors is its own test: each row makes the body that its vendor sends. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { decodeProviderError } from "../../../../core/wire/convert/provider_errors.ts";
import { readProviderError } from "../../../../core/wire/errors/provider_error.ts";
import { consequences, type ErrorKind } from "../../../../core/wire/errors/table/kinds.ts";
import { classify } from "../../../../core/wire/errors/classify.ts";
import { readErrorFields } from "../../../../core/wire/errors/error_fields.ts";
import { OperatorRefusal } from "../../../../core/wire/errors/provider_error.ts";
import { vendors } from "../../../../core/wire/errors/table/table.ts";
import { bodyOf, examples } from "./vendor_bodies.ts";

Deno.test("the table has 250 rows of 45 vendors, each with a public source", () => {
  const names = new Set(vendors.map(({ vendor }) => vendor));
  assert(examples.length >= 250, String(examples.length));
  assert(names.size >= 45, String(names.size));
  for (const { vendor, row } of examples) {
    assert(URL.canParse(row.source ?? vendor.source), `${vendor.vendor}: ${row.says}`);
  }
});

Deno.test("every row is read as its kind: from an answer, and from a success or stream where it has a code or a text", () => {
  const wrong: string[] = [];
  for (const { vendor, row } of examples) {
    const fields = readErrorFields(bodyOf(vendor, row));
    const status = row.status < 400 ? undefined : row.status;
    const found: ErrorKind = classify(status, fields).kind;
    if (found !== row.kind) {
      wrong.push(
        `${vendor.vendor} ${row.status} ${row.code ?? ""} ${row.says}: ${found}, not ${row.kind}`,
      );
    }
    if (row.code === undefined && row.form === undefined || row.only !== undefined) continue;
    const streamed: ErrorKind = classify(undefined, fields).kind;
    if (streamed !== row.kind) {
      wrong.push(
        `${vendor.vendor} in a stream: ${row.code ?? ""} ${row.says}: ${streamed}, not ${row.kind}`,
      );
    }
  }
  assertEquals(wrong, []);
});

Deno.test("what follows from a kind reaches the client, the route and the operator", () => {
  for (const { vendor, row } of examples) {
    const { code, marks, alarms } = consequences[row.kind];
    const body = bodyOf(vendor, row);
    if (row.status >= 400) {
      const error = decodeProviderError("chat", row.status, JSON.stringify(body), { native: true });
      assertEquals([error.code, error.marks, error instanceof OperatorRefusal], [
        code,
        marks,
        alarms,
      ], row.says);
      const keeps = code === "invalid_request" && row.kind !== "ability";
      assert(keeps || error.status !== 403, row.says);
    }
    if ((row.code === undefined && row.form === undefined) || row.only !== undefined) continue;
    const streamed = readProviderError(body);
    const isOurs = alarms || row.kind === "model";
    assertEquals(streamed.code, isOurs ? "upstream_unreachable" : code, row.says);
  }
});
