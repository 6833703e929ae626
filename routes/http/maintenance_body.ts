/** The schema of a request that turns maintenance on or off. */
import { z } from "zod";
import { maxSwitchReasonChars } from "../../kv/operators/control.ts";
import { plainMaintenanceMessage } from "../../kv/operators/switches.ts";

export const maintenanceBody = z.strictObject({
  on: z.boolean(),
  message: z.string().min(1).max(maxSwitchReasonChars).default(plainMaintenanceMessage),
});
