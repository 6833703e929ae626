import { testEngine } from "./conformance.ts";
import { openEmbedded } from "./embedded.ts";

testEngine("embedded engine", openEmbedded);
