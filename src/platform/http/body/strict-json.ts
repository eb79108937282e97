/**
 * Parses all request bodies: from bytes to a tree that keeps every literal as received. The signature check and the
 * handlers use the same tree, so they cannot disagree about the request. It refuses more than JSON does
 * (docs/interface.md §1), in one pass. Recursion ends at MAX_DEPTH, so no input can exhaust the stack.
 */
import { isUtf8 } from 'node:buffer';

const MAX_DEPTH = 8;
/** Our choice: counted over the whole body, not per object, which bounds the work more simply. */
const MAX_KEYS = 64;
const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/** A string, number, boolean or null. `literal` is its text as received, `value` a string's unescaped content. */
export type StrictLeaf =
  | { readonly kind: 'string'; readonly literal: string; readonly value: string }
  | { readonly kind: 'number' | 'boolean' | 'null'; readonly literal: string };

export interface StrictMember {
  /** The unescaped key, unique in its object. */
  readonly key: string;
  /** The key as received, with its quotes. */
  readonly keyLiteral: string;
  readonly value: StrictNode;
}

export interface StrictObject {
  readonly kind: 'object';
  readonly members: readonly StrictMember[];
}

export interface StrictArray {
  readonly kind: 'array';
  readonly items: readonly StrictNode[];
}

export type StrictNode = StrictLeaf | StrictObject | StrictArray;

/** A parsed body, with facts noticed by the scan that spare most bodies a second rendering. */
export interface StrictBody {
  readonly root: StrictObject;
  readonly text: string;
  /** No whitespace between tokens, and every object's keys sorted: `text` is its own canonical form. */
  readonly isCanonical: boolean;
  /** At least one string contains a backslash escape. */
  readonly hasEscapes: boolean;
  /** A string may contain one of `< > &`, U+2028, U+2029, which Go writes as escapes. */
  readonly hasHtml: boolean;
}

/** Thrown for a refused body. The message is a sentence for the caller and quotes nothing from the body. */
export class StrictJsonError extends Error {
  override readonly name = 'StrictJsonError';
}

/** Compares two strings by their UTF-8 bytes, which is code point order: `<` alone misplaces astral characters. */
export function compareUtf8(left: string, right: string): number {
  const shared = Math.min(left.length, right.length);
  for (let index = 0; index < shared; index += 1) {
    const a = left.charCodeAt(index);
    const b = right.charCodeAt(index);
    // In UTF-16, surrogates (astral characters) sort before U+E000–U+FFFF; in UTF-8 after them.
    if (a !== b) return rank(a) - rank(b);
  }
  return left.length - right.length;
}

function rank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit >= 0xe000 ? unit - 0x800 : unit + 0x2000;
}

/** Parses `bytes` strictly. Throws StrictJsonError for everything docs/interface.md §1 refuses. */
export function readStrictJson(bytes: Buffer): StrictBody {
  if (!isUtf8(bytes)) throw new StrictJsonError('The body is not valid UTF-8.');
  if (bytes.length >= 3 && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    throw new StrictJsonError('The body starts with a byte order mark. Send plain UTF-8.');
  }
  return new Scanner(bytes.toString('utf8')).read();
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const MINUS = 0x2d;

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const ESCAPES = /\\(?:(["\\/bfnrt])|u([0-9a-fA-F]{4}))/g;
const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

const LONE_SURROGATE = /\p{Surrogate}/u;

function unescape(content: string): string {
  return content.replace(ESCAPES, (_all, short: string | undefined, hex: string | undefined) =>
    short === undefined ? String.fromCharCode(Number.parseInt(hex ?? '', 16)) : (SHORT_ESCAPES[short] ?? short),
  );
}

function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39;
}

class Scanner {
  private at = 0;
  private keys = 0;
  private isCanonical = true;
  private hasEscapes = false;
  private hasHtml = false;

  constructor(private readonly text: string) {}

  read(): StrictBody {
    this.skipSpace();
    if (this.text.charCodeAt(this.at) !== OPEN_BRACE) {
      // Only the message differs; both are refused.
      throw this.text.length === this.at
        ? new StrictJsonError('The body is empty. Send a JSON object.')
        : new StrictJsonError('The body is not a JSON object.');
    }
    const root = this.readObject(1);
    this.skipSpace();
    if (this.at !== this.text.length) throw this.fault('ends after the first JSON object');
    const { text, isCanonical, hasEscapes, hasHtml } = this;
    return { root, text, isCanonical, hasEscapes, hasHtml };
  }

  private fault(rule: string): StrictJsonError {
    return new StrictJsonError(`The body is not valid JSON (character ${this.at.toString()}). Valid JSON ${rule}.`);
  }

  private skipSpace(): void {
    for (;;) {
      const unit = this.text.charCodeAt(this.at);
      if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return;
      this.isCanonical = false;
      this.at += 1;
    }
  }

  /** Skips whitespace and returns the code unit it stopped at; NaN at the end of the text. */
  private peek(): number {
    this.skipSpace();
    return this.text.charCodeAt(this.at);
  }

  private readValue(depth: number): StrictNode {
    const unit = this.peek();
    if (unit === QUOTE) return this.readString();
    if (unit === OPEN_BRACE) return this.readObject(depth + 1);
    if (unit === OPEN_BRACKET) return this.readArray(depth + 1);
    if (unit === MINUS || isDigit(unit)) return this.readNumber();
    return this.readWord();
  }

  private readObject(depth: number): StrictObject {
    this.enter(depth);
    const members: StrictMember[] = [];
    if (this.peek() === CLOSE_BRACE) {
      this.at += 1;
      return { kind: 'object', members };
    }
    for (;;) {
      if (this.peek() !== QUOTE) throw this.fault('names every member with a string');
      const { literal: keyLiteral, value: key } = this.readString();
      this.admitKey(key, members);
      if (this.peek() !== COLON) throw this.fault('has a colon after each key');
      this.at += 1;
      members.push({ key, keyLiteral, value: this.readValue(depth) });
      const unit = this.peek();
      this.at += 1;
      if (unit === CLOSE_BRACE) return { kind: 'object', members };
      if (unit !== COMMA) throw this.fault('separates members with commas and closes its objects');
    }
  }

  private readArray(depth: number): StrictArray {
    this.enter(depth);
    const items: StrictNode[] = [];
    if (this.peek() === CLOSE_BRACKET) {
      this.at += 1;
      return { kind: 'array', items };
    }
    for (;;) {
      items.push(this.readValue(depth));
      const unit = this.peek();
      this.at += 1;
      if (unit === CLOSE_BRACKET) return { kind: 'array', items };
      if (unit !== COMMA) throw this.fault('separates items with commas and closes its arrays');
    }
  }

  private enter(depth: number): void {
    if (depth > MAX_DEPTH) throw new StrictJsonError(`The body is nested deeper than ${MAX_DEPTH.toString()} levels.`);
    this.at += 1;
  }

  private admitKey(key: string, siblings: readonly StrictMember[]): void {
    this.keys += 1;
    if (this.keys > MAX_KEYS) throw new StrictJsonError(`The body has more than ${MAX_KEYS.toString()} keys.`);
    if (FORBIDDEN_KEYS.has(key)) throw new StrictJsonError('The body uses a key that is not allowed.');
    // At most 64 siblings, so a linear search is cheaper than a Set and still bounded.
    for (const sibling of siblings) {
      if (sibling.key === key) throw new StrictJsonError('The body names a key twice in one object.');
    }
    const last = siblings.at(-1);
    if (last !== undefined && compareUtf8(last.key, key) > 0) this.isCanonical = false;
  }

  private readString(): StrictLeaf & { kind: 'string' } {
    const start = this.at;
    let escaped = false;
    for (this.at += 1; ; this.at += 1) {
      const unit = this.text.charCodeAt(this.at);
      if (unit === QUOTE) break;
      if (unit === BACKSLASH) {
        escaped = true;
        this.skipEscape();
      } else if (!(unit >= 0x20)) {
        throw this.fault('closes its strings and escapes control characters in them');
      } else if (unit === 0x3c || unit === 0x3e || unit === 0x26 || unit === 0x2028 || unit === 0x2029) {
        this.hasHtml = true;
      }
    }
    this.at += 1;
    const literal = this.text.slice(start, this.at);
    if (!escaped) return { kind: 'string', literal, value: literal.slice(1, -1) };
    // An escape may represent one of Go's special characters.
    this.hasEscapes = true;
    this.hasHtml = true;
    const value = unescape(literal.slice(1, -1));
    if (LONE_SURROGATE.test(value)) throw new StrictJsonError('The body holds half of a surrogate pair.');
    return { kind: 'string', literal, value };
  }

  /** Leaves `at` on the last code unit of the escape. */
  private skipEscape(): void {
    ESCAPE.lastIndex = this.at;
    const match = ESCAPE.exec(this.text);
    if (match === null) throw this.fault('uses only the escapes of JSON');
    this.at += match[0].length - 1;
  }

  private readNumber(): StrictLeaf {
    NUMBER.lastIndex = this.at;
    const match = NUMBER.exec(this.text);
    if (match === null) throw this.fault('writes numbers as JSON does');
    this.at += match[0].length;
    return { kind: 'number', literal: match[0] };
  }

  private readWord(): StrictLeaf {
    for (const literal of ['true', 'false', 'null']) {
      if (this.text.startsWith(literal, this.at)) {
        this.at += literal.length;
        return { kind: literal === 'null' ? 'null' : 'boolean', literal };
      }
    }
    throw this.fault('has a value in each place that needs one');
  }
}
