// @ts-self-types="./check_document.d.ts"
/*
 * Checks a proof with nothing but the proof and the published keys. The command and the page `/proofs` run this file as it
 * is, so it is plain JavaScript that a browser loads. Both documents may be hostile: every member is checked, and nothing
 * of them is passed on as it came.
 */

/** Hashes of a path at most: a tree of 2^48 leaves. */
const maxPathNodes = 48;

/** Characters of a text in a proof at most; those of receipts have some hundred. */
const maxTextChars = 4_096;

/** Keys of a set at most: one a year is usual. */
const maxKeys = 1_000;

/** Bytes of a public key. */
const publicKeyBytes = 32;

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isText = (value, max = maxTextChars) => typeof value === "string" && value.length <= max;
const isHash = (value) => typeof value === "string" && /^[0-9a-f]{64}$/.test(value);

const hexOf = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const bytesOfHex = (text) =>
  Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));

/** The bytes of base64url without padding; `undefined` for any other text. */
function bytesOfBase64Url(text) {
  if (!isText(text, 128) || !/^[A-Za-z0-9_-]+$/.test(text)) return undefined;
  try {
    const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    return Uint8Array.from(binary, (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

async function hash(first, ...rest) {
  const parts = [Uint8Array.of(first), ...rest];
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

/** The root to which a path leads (RFC 9162, section 2.1.3.2); `undefined` if it is none of a tree of that size. */
export async function rootByPath({ leaf, index, path }, size) {
  if (!Number.isSafeInteger(index) || !Number.isSafeInteger(size) || index < 0 || index >= size) {
    return undefined;
  }
  let [at, last] = [index, size - 1];
  let root = await hash(0, new TextEncoder().encode(leaf));
  for (const node of path.map(bytesOfHex)) {
    if (last === 0) return undefined;
    if (at % 2 === 1 || at === last) {
      root = await hash(1, node, root);
      while (at % 2 === 0 && at !== 0) {
        at = Math.floor(at / 2);
        last = Math.floor(last / 2);
      }
    } else {
      root = await hash(1, root, node);
    }
    at = Math.floor(at / 2);
    last = Math.floor(last / 2);
  }
  return last === 0 ? hexOf(root) : undefined;
}

const headPattern = /^(\d{1,15}) ([0-9a-f]{64})$/;

/** A signed text has six lines: form, service, day, receipts, balances, the hash of the one before. */
function readStatement(text) {
  const [form, origin, day, receipts, balances, previous, rest, ...more] = text.split("\n");
  const headOf = (line) => {
    const [, size, root] = headPattern.exec(line ?? "") ?? [];
    return root === undefined ? undefined : { size: Number(size), root };
  };
  const isWhole = form === "gateway day v1" && rest === "" && more.length === 0 &&
    /^\d{4}-\d\d-\d\d$/.test(day ?? "") && /^https?:\/\/[\x21-\x7e]+$/.test(origin ?? "") &&
    headOf(receipts) !== undefined && (balances === "none" || headOf(balances) !== undefined) &&
    (previous === "none" || isHash(previous));
  return isWhole
    ? { origin, day, receipts: headOf(receipts), balances: headOf(balances) }
    : undefined;
}

/** Checks the signature of a day. */
export async function checkDay(day, keySet) {
  const wrong = (why) => ({ ok: false, why });
  const isForm = isObject(day) && isText(day.statement) && isText(day.key, 64) &&
    isText(day.signature, 128);
  if (!isForm) return wrong("form");
  const keys = isObject(keySet) && Array.isArray(keySet.keys) ? keySet.keys.slice(0, maxKeys) : [];
  const key = keys.find((one) =>
    isObject(one) && one.kty === "OKP" && one.crv === "Ed25519" && one.kid === day.key
  );
  if (key === undefined) return wrong("unknown_key");
  const [raw, signature] = [bytesOfBase64Url(key.x), bytesOfBase64Url(day.signature)];
  if (raw?.length !== publicKeyBytes || signature === undefined) return wrong("signature");
  const imported = await crypto.subtle.importKey("raw", raw, "Ed25519", false, ["verify"]);
  const text = new TextEncoder().encode(day.statement);
  const isSigned = await crypto.subtle.verify("Ed25519", imported, signature, text);
  if (!isSigned) return wrong("signature");
  const statement = readStatement(day.statement);
  return statement === undefined ? wrong("statement") : { ok: true, statement };
}

/** The forms of leaves, by their trees: the first member, and how many there are. */
const leafForms = {
  receipts: ["gateway receipt v1", 12],
  balances: ["gateway balance v1", 4],
};

/** The members of a leaf, which is written in one way only; `undefined` for any other text. */
function readLeaf(tree, text) {
  let members;
  try {
    members = JSON.parse(text);
  } catch {
    return undefined;
  }
  const [form, count] = leafForms[tree];
  const isForm = Array.isArray(members) && members.length === count && members[0] === form &&
    JSON.stringify(members) === text;
  return isForm ? members : undefined;
}

/** Checks one inclusion: that a leaf of the right form is in the tree of a day whose signature is right. */
async function checkInclusion(proof, tree, keys) {
  const wrong = (why) => ({ ok: false, why });
  const isForm = isObject(proof) && proof.tree === tree && isText(proof.leaf) &&
    Array.isArray(proof.path) && proof.path.length <= maxPathNodes && proof.path.every(isHash);
  if (!isForm) return wrong("form");
  const day = await checkDay(proof.day, keys);
  if (!day.ok) return day;
  const head = day.statement[tree];
  if (head === undefined) return wrong("no_tree");
  if (await rootByPath(proof, head.size) !== head.root) return wrong("path");
  const leaf = readLeaf(tree, proof.leaf);
  if (leaf === undefined) return wrong("leaf");
  return { ok: true, statement: day.statement, leaf };
}

function dayBefore(day) {
  return new Date(Date.parse(`${day}T00:00:00Z`) - 86_400_000).toISOString().slice(0, 10);
}

/** Checks the balances of a month: of one account and one service, before the month and at its end or so far. */
async function checkMonth({ month, opening, closing }, keys) {
  if (typeof month !== "string" || !/^\d{4}-(?:0[1-9]|1[0-2])$/.test(month)) {
    return { ok: false, why: "form" };
  }
  const facts = [];
  for (const [place, proof] of [["opening", opening], ["closing", closing]]) {
    if (proof === null || proof === undefined) continue;
    const check = await checkInclusion(proof, "balances", keys);
    if (!check.ok) return { ok: false, why: check.why, place };
    const { statement: { origin, day }, leaf: [, account, leafDay, balanceVnd] } = check;
    const isPlace = leafDay === day &&
      (place === "opening" ? day === dayBefore(`${month}-01`) : day.startsWith(month));
    if (!isPlace) return { ok: false, why: "place", place };
    facts.push({ kind: "balance", place, origin, day, account, balanceVnd });
  }
  const [first, second] = facts;
  const isOne = second === undefined ||
    (first.account === second.account && first.origin === second.origin);
  if (!isOne) return { ok: false, why: "mixed" };
  return facts.length === 0 ? { ok: false, why: "nothing" } : { ok: true, facts };
}

/** Checks a document, of a receipt or of a month; see the types beside this file. */
export async function checkDocument(document, keys) {
  if (!isObject(document)) return { ok: false, why: "form" };
  if (document.object === "statement.proof") return await checkMonth(document, keys);
  if (document.object !== "receipt.proof") return { ok: false, why: "form" };
  const check = await checkInclusion(document, "receipts", keys);
  if (!check.ok) return { ok: false, why: check.why };
  const { statement: { origin, day }, leaf } = check;
  const [, id, account, , model, startedAt, , , , , , costVnd] = leaf;
  // A call that began on a later day was not settled on the signed one.
  if (typeof startedAt !== "string" || startedAt.slice(0, 10) > day) {
    return { ok: false, why: "place" };
  }
  return { ok: true, facts: [{ kind: "receipt", origin, day, id, account, model, costVnd }] };
}

/** A fact in one line. Texts are written as JSON with every character that is not printable ASCII escaped. */
export function factLine(fact) {
  const shown = (value) =>
    JSON.stringify(value).replace(
      /[^\x20-\x7e]/g,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
  const { origin, day, account } = fact;
  const what = fact.kind === "receipt"
    ? `receipt ${shown(fact.id)} of ${shown(account)}: ${shown(fact.model)}, ${
      shown(fact.costVnd)
    } VND`
    : `${fact.place} balance of ${shown(account)}: ${shown(fact.balanceVnd)} VND`;
  return `${what}; signed by ${shown(origin)} for ${day}`;
}
