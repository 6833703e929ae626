/* Checks a proof in the browser, with nothing but the proof and the keys: no request is made. */
"use strict";

const hexOf = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const bytesOfHex = (text) =>
  Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
const bytesOfBase64Url = (text) =>
  Uint8Array.from(
    atob(text.replaceAll("-", "+").replaceAll("_", "/")),
    (char) => char.charCodeAt(0),
  );
const hash = async (...parts) =>
  new Uint8Array(await crypto.subtle.digest("SHA-256", await new Blob(parts).arrayBuffer()));

/* The signed text has six lines: form, service, day, receipts, balances, the statement before. */
function readStatement(text) {
  const [form, origin, day, receipts, balances, , rest, ...more] = text.split("\n");
  if (form !== "gateway day v1" || rest !== "" || more.length > 0) return undefined;
  const headOf = (line) => {
    const [, size, root] = /^(\d{1,15}) ([0-9a-f]{64})$/.exec(line) ?? [];
    return size === undefined ? undefined : { size: Number(size), root };
  };
  return { origin, day, receipts: headOf(receipts), balances: headOf(balances) };
}

/* RFC 9162, section 2.1.3.2. */
async function rootByPath({ leaf, index, path }, size) {
  if (!Number.isSafeInteger(index) || index < 0 || index >= size) return undefined;
  let at = index;
  let last = size - 1;
  let root = await hash(new Uint8Array([0]), new TextEncoder().encode(leaf));
  for (const node of path.map(bytesOfHex)) {
    if (last === 0) return undefined;
    if (at % 2 === 1 || at === last) {
      root = await hash(new Uint8Array([1]), node, root);
      while (at % 2 === 0 && at !== 0) {
        at = Math.floor(at / 2);
        last = Math.floor(last / 2);
      }
    } else {
      root = await hash(new Uint8Array([1]), root, node);
    }
    at = Math.floor(at / 2);
    last = Math.floor(last / 2);
  }
  return last === 0 ? hexOf(root) : undefined;
}

async function checkInclusion(proof, keys) {
  const key = keys.find(({ kid }) => kid === proof.day.key);
  if (key === undefined) return { why: "unknown_key" };
  const imported = await crypto.subtle.importKey(
    "raw",
    bytesOfBase64Url(key.x),
    "Ed25519",
    false,
    ["verify"],
  );
  const text = new TextEncoder().encode(proof.day.statement);
  const isSigned = await crypto.subtle.verify(
    "Ed25519",
    imported,
    bytesOfBase64Url(proof.day.signature),
    text,
  );
  if (!isSigned) return { why: "signature" };
  const statement = readStatement(proof.day.statement);
  if (statement === undefined) return { why: "statement" };
  const head = proof.tree === "balances" ? statement.balances : statement.receipts;
  if (head === undefined) return { why: "no_tree" };
  return await rootByPath(proof, head.size) === head.root ? { statement } : { why: "path" };
}

/* One proof, or those of a statement. */
function inclusionsOf(document) {
  if (document.object === "statement.proof") {
    return [document.opening, document.closing].filter((one) => one !== null && one !== undefined);
  }
  return [document];
}

const form = document.querySelector("[data-proof-form]");
form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const result = document.querySelector("#proof-result");
  const say = (tone, lines) => {
    result.className = `notice ${tone}`;
    const text = document.createElement("div");
    text.append(...lines.map((line) => {
      const paragraph = document.createElement("p");
      paragraph.textContent = line;
      return paragraph;
    }));
    result.replaceChildren(text);
    result.hidden = false;
  };
  const words = JSON.parse(form.dataset.words);
  try {
    const proofs = inclusionsOf(JSON.parse(form.elements.proof.value));
    const { keys } = JSON.parse(form.elements.keys.value);
    const lines = [];
    for (const proof of proofs) {
      const { why, statement } = await checkInclusion(proof, keys);
      if (why !== undefined) return say("danger", [words[why]]);
      lines.push(`${words.right} ${statement.origin}, ${statement.day}`, proof.leaf);
    }
    say(proofs.length === 0 ? "warning" : "success", proofs.length === 0 ? [words.nothing] : lines);
  } catch {
    say("danger", [words.unreadable]);
  }
});
