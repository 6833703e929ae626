/** Operations on the audit log, which is only read. */
import { z } from "zod";
import { defined } from "../../../core/lib/base/defined.ts";
import { parseId } from "../../../core/lib/ids/ids.ts";
import {
  type AuditLine,
  findAuditLines,
  operatorActs,
} from "../../../kv/people/audit/operator_audit.ts";
import { listBody, listCursor, listLimit, listOf, wrongCursor } from "./contract/lists.ts";
import { operation } from "./contract/operation.ts";
import { movedMoney, movedMoneyJson } from "./money/moved_money.ts";

const auditRow = z.object({
  id: z.string(),
  at: z.iso.datetime(),
  operatorId: z.string().optional(),
  operator: z.string().describe("The address at that time, `command line` or `operator key`."),
  act: z.enum(operatorActs),
  subject: z.string(),
  detail: z.string(),
  money: movedMoney.optional(),
});

function rowOf({ id, atMs, operatorId, operatorEmail, act, subject, detail, money }: AuditLine) {
  return {
    id,
    at: new Date(atMs).toISOString(),
    ...defined({ operatorId }),
    operator: operatorEmail,
    act,
    subject,
    detail,
    ...(money !== undefined && { money: movedMoneyJson(money) }),
  };
}

/** Lists the audit log. */
export const listAudit = operation({
  name: "audit.list",
  summary: "The audit log, newest first, whole or by act, subject and operator",
  effect: "reads",
  input: z.strictObject({
    act: z.enum(operatorActs).optional(),
    subject: z.string().optional().describe("What was acted on: an id, whole."),
    operator: z.string().optional().describe("The address of whoever acted."),
    before: listCursor,
    limit: listLimit,
  }),
  output: listOf(auditRow),
  async run({ kv }, { act, subject, operator, before: cursor, limit: count }) {
    const before = cursor === undefined ? undefined : parseId("audit", cursor);
    if (cursor !== undefined && before === undefined) {
      return wrongCursor("the id of a line");
    }
    const search = { count, ...defined({ before, act, subject, operatorEmail: operator }) };
    const { lines, next } = await findAuditLines(kv, search);
    return { ok: true, body: listBody(lines.map(rowOf), { next, last: lines.at(-1)?.id }) };
  },
});
