import type { Turn } from "../conversation/mod.ts";
import type { Warnings } from "../contract/warnings.ts";

/** Writes an instruction as text of the user at its place, for models without system turns; the cached prefix stays. */
export function systemAsUser(turn: Turn, warnings: Warnings): Turn {
  warnings.add(turn.path);
  return {
    ...turn,
    role: "user",
    blocks: turn.blocks.map((block) =>
      block.type === "text"
        ? { ...block, text: `[Instruction from the system, not from the user]\n${block.text}` }
        : block
    ),
  };
}
