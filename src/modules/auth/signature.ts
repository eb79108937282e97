/**
 * The MD5 signature of a request: hex(md5(base64(canonical) + apiKey)) (docs/interface.md §2). Pure: knows no project
 * and no request. The interface fixes MD5; project options cover the unsigned parts (path, headers, time).
 */
import { hash, timingSafeEqual } from 'node:crypto';
import {
  compareUtf8,
  type StrictBody,
  type StrictLeaf,
  type StrictNode,
} from '../../platform/http/body/strict-json.js';

type WriteString = (leaf: StrictLeaf & { kind: 'string' }) => string;

/** Form (a): every literal as received, keys sorted, whitespace removed (docs/interface.md §2). */
const asReceived: WriteString = (leaf) => leaf.literal;
/** Form (b): strings as JSON.stringify writes them. */
const asJavaScript: WriteString = (leaf) => JSON.stringify(leaf.value);
/** Form (c): strings as Go's encoding/json writes them. */
const asGo: WriteString = (leaf) => goLiteral(JSON.stringify(leaf.value));

const GO_ESCAPES: Readonly<Record<string, string>> = {
  '<': String.raw`\u003c`,
  '>': String.raw`\u003e`,
  '&': String.raw`\u0026`,
  '\u2028': String.raw`\u2028`,
  '\u2029': String.raw`\u2029`,
  [String.raw`\b`]: String.raw`\u0008`,
  [String.raw`\f`]: String.raw`\u000c`,
};

/** `\\.` matches an escape as a unit, so that the `b` after an escaped backslash is not replaced. */
function goLiteral(literal: string): string {
  return literal.replace(/\\.|[<>&\u2028\u2029]/g, (part) => GO_ESCAPES[part] ?? part);
}

/** Recursion is bounded by the parser's limit of eight levels. */
function write(node: StrictNode, writeString: WriteString): string {
  switch (node.kind) {
    case 'object': {
      const members = [...node.members].sort((left, right) => compareUtf8(left.key, right.key));
      const parts = members.map(({ key, keyLiteral, value }) => {
        return `${writeString({ kind: 'string', literal: keyLiteral, value: key })}:${write(value, writeString)}`;
      });
      return `{${parts.join(',')}}`;
    }
    case 'array':
      return `[${node.items.map((item) => write(item, writeString)).join(',')}]`;
    case 'string':
      return writeString(node);
    default:
      return node.literal;
  }
}

/**
 * Yields the strings that a caller may have signed for `body`: at most three different ones (docs/interface.md §2). An
 * absent body is the empty string. Each is computed only when the previous one did not match.
 */
export function* canonicalForms(body: StrictBody | undefined): Generator<string, void, undefined> {
  if (body === undefined) {
    yield '';
    return;
  }
  const received = body.isCanonical ? body.text : write(body.root, asReceived);
  yield received;
  // Without escapes, JSON.stringify writes every string as received.
  const plain = body.hasEscapes ? write(body.root, asJavaScript) : received;
  if (plain !== received) yield plain;
  if (!body.hasHtml) return;
  const go = write(body.root, asGo);
  if (go !== plain && go !== received) yield go;
}

/** Returns the signature of one canonical string under `apiKey`: 32 lower-case hex characters. */
export function signCanonical(canonical: string, apiKey: string): string {
  return hash('md5', Buffer.from(canonical, 'utf8').toString('base64') + apiKey, 'hex');
}

const SIGNATURE = /^[0-9a-f]{32}$/;
/** Replaces a malformed signature, so that it costs as much as any other wrong one. */
const NEVER = Buffer.alloc(32, 'x');

/** Returns true if `signature` is that of `body` under `apiKey`. Compares in constant time. */
export function verifySignature(body: StrictBody | undefined, signature: string, apiKey: string): boolean {
  const claimed = SIGNATURE.test(signature) ? Buffer.from(signature, 'latin1') : NEVER;
  for (const canonical of canonicalForms(body)) {
    if (timingSafeEqual(Buffer.from(signCanonical(canonical, apiKey), 'latin1'), claimed)) return true;
  }
  return false;
}
