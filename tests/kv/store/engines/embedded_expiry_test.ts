import { testExpiry } from "./conformance.ts";
import { openEmbedded } from "./embedded.ts";

testExpiry("embedded engine", 600_000, openEmbedded);
