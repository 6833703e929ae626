/** How programs turn maintenance on and off: the same body in every operator interface. */
import { z } from "zod";
import { maxSwitchReasonChars } from "../../kv/engine/control/control.ts";
import { plainMaintenanceMessage } from "../../kv/people/operators/switches.ts";

/** A request that turns maintenance on or off. */
export const maintenanceBody = z.strictObject({
  on: z.boolean(),
  message: z.string().min(1).max(maxSwitchReasonChars).default(plainMaintenanceMessage),
});
