// Reads and writes JSON like a java-tron node: 64-bit integers stay exact, and every value knows its column, because
// the node's error messages contain it. Independent of the chain.

export type JsonNode =
  | {
      readonly kind: 'object';
      readonly at: number;
      readonly raw: string;
      readonly fields: ReadonlyMap<string, JsonNode>;
    }
  | { readonly kind: 'array'; readonly at: number; readonly raw: string; readonly items: readonly JsonNode[] }
  | { readonly kind: 'string'; readonly at: number; readonly raw: string; readonly value: string }
  | { readonly kind: 'number' | 'true' | 'false' | 'null'; readonly at: number; readonly raw: string };

/** A printable value; `bigint` prints as a bare JSON number. */
export type Json =
  string | number | bigint | boolean | null | Printed | readonly Json[] | { readonly [key: string]: Json | undefined };

/** Text printed earlier, inserted into an answer verbatim. `content` gives its value again, for another form. */
export class Printed {
  constructor(
    readonly text: string,
    readonly content: () => Json,
  ) {}
}

/** Text that is not JSON; `at` is the offset of the first unreadable character. */
export class JsonSyntaxError extends Error {
  constructor(
    readonly at: number,
    reason: string,
  ) {
    super(`${reason}, pos ${String(at)}`);
  }
}

const DEPTH_MAX = 64;

class Reader {
  private at = 0;
  constructor(private readonly text: string) {}

  document(): JsonNode {
    const node = this.value(0);
    this.space();
    if (this.at < this.text.length) throw new JsonSyntaxError(this.at, 'syntax error, unexpected text after the value');
    return node;
  }

  private space(): void {
    for (;;) {
      const c = this.text.charCodeAt(this.at);
      if (c === 32 || c === 10 || c === 13 || c === 9) this.at++;
      else return;
    }
  }

  private value(depth: number): JsonNode {
    if (depth > DEPTH_MAX) throw new JsonSyntaxError(this.at, 'syntax error, nested too deep');
    this.space();
    const start = this.at;
    switch (this.text[start]) {
      case '{':
        return this.object(start, depth);
      case '[':
        return this.array(start, depth);
      case '"': {
        const value = this.string();
        return { kind: 'string', at: start, raw: this.text.slice(start, this.at), value };
      }
      default:
        return this.bare(start);
    }
  }

  private object(start: number, depth: number): JsonNode {
    const fields = new Map<string, JsonNode>();
    this.at++;
    this.space();
    if (this.text[this.at] === '}') this.at++;
    else
      for (;;) {
        this.space();
        if (this.text[this.at] !== '"') throw new JsonSyntaxError(this.at, 'syntax error, expected a name');
        const name = this.string();
        this.space();
        if (this.text[this.at] !== ':') throw new JsonSyntaxError(this.at, 'syntax error, expected a colon');
        this.at++;
        fields.set(name, this.value(depth + 1));
        if (this.next('}')) break;
      }
    return { kind: 'object', at: start, raw: this.text.slice(start, this.at), fields };
  }

  private array(start: number, depth: number): JsonNode {
    const items: JsonNode[] = [];
    this.at++;
    this.space();
    if (this.text[this.at] === ']') this.at++;
    else
      for (;;) {
        items.push(this.value(depth + 1));
        if (this.next(']')) break;
      }
    return { kind: 'array', at: start, raw: this.text.slice(start, this.at), items };
  }

  /** Consumes a comma (false) or the closing bracket (true). */
  private next(close: string): boolean {
    this.space();
    const c = this.text[this.at];
    if (c !== ',' && c !== close) throw new JsonSyntaxError(this.at, `syntax error, expected , or ${close}`);
    this.at++;
    return c === close;
  }

  private string(): string {
    const start = this.at;
    let end = start + 1;
    for (;;) {
      const c = this.text.charCodeAt(end);
      if (Number.isNaN(c)) throw new JsonSyntaxError(start, 'unclosed string');
      if (c === 34) break;
      end += c === 92 ? 2 : 1;
    }
    this.at = end + 1;
    const inside = this.text.slice(start + 1, end);
    if (!inside.includes('\\')) return inside;
    try {
      return JSON.parse(this.text.slice(start, end + 1)) as string;
    } catch {
      throw new JsonSyntaxError(start, 'syntax error, bad escape');
    }
  }

  private bare(start: number): JsonNode {
    let end = start;
    while (end < this.text.length && !' \n\r\t,]}:'.includes(this.text[end] ?? '')) end++;
    const raw = this.text.slice(start, end);
    this.at = end;
    if (raw === 'true' || raw === 'false' || raw === 'null') return { kind: raw, at: start, raw };
    if (/^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$/.test(raw)) return { kind: 'number', at: start, raw };
    throw new JsonSyntaxError(start, 'syntax error');
  }
}

/** Parses one JSON value. Throws JsonSyntaxError. */
export function readJson(text: string): JsonNode {
  return new Reader(text).document();
}

/** Returns the member `name`; undefined if the node is no object, lacks it, or holds null. */
export function member(node: JsonNode | undefined, name: string): JsonNode | undefined {
  if (node?.kind !== 'object') return undefined;
  const found = node.fields.get(name);
  return found === undefined || found.kind === 'null' ? undefined : found;
}

/** Like fastjson's getString: the text of a string, the raw text of anything else. */
export function textOf(node: JsonNode | undefined): string | undefined {
  if (node === undefined) return undefined;
  return node.kind === 'string' ? node.value : node.raw;
}

/** Returns a bare or quoted integer; undefined if absent. Throws the error of fastjson's getLong. */
export function integerOf(node: JsonNode | undefined): bigint | undefined {
  const text = textOf(node);
  if (text === undefined || text === '') return undefined;
  if (!/^-?[0-9]{1,19}$/.test(text)) throw new JsonSyntaxError(node?.at ?? 0, `can not cast to long, value : ${text}`);
  return BigInt(text);
}

/** Returns true for `true` and, like fastjson, for "true" and 1. */
export function flagOf(node: JsonNode | undefined): boolean {
  const text = textOf(node);
  return text !== undefined && (text.toLowerCase() === 'true' || text === '1');
}

/** Prints JSON with bare 64-bit integers; undefined members are omitted. */
export function printJson(value: Json, quotesInt64 = false): string {
  if (typeof value === 'bigint') return quotesInt64 ? `"${value.toString()}"` : value.toString();
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (value instanceof Printed) return quotesInt64 ? printJson(value.content(), true) : value.text;
  if (isList(value)) return `[${value.map((item) => printJson(item, quotesInt64)).join(',')}]`;
  let out = '';
  for (const key of Object.keys(value)) {
    const inner = value[key];
    if (inner === undefined) continue;
    out += `${out === '' ? '' : ','}${JSON.stringify(key)}:${printJson(inner, quotesInt64)}`;
  }
  return `{${out}}`;
}

function isList(value: readonly Json[] | Readonly<Record<string, Json | undefined>>): value is readonly Json[] {
  return Array.isArray(value);
}

/** Builds an object node from a GET query: short numbers and booleans become bare values. */
export function nodeOfQuery(query: URLSearchParams): JsonNode {
  const fields = new Map<string, JsonNode>();
  for (const [name, value] of query) {
    if (value === 'true' || value === 'false') fields.set(name, { kind: value, at: 0, raw: value });
    else if (/^-?[0-9]{1,18}$/.test(value)) fields.set(name, { kind: 'number', at: 0, raw: value });
    else fields.set(name, { kind: 'string', at: 0, raw: JSON.stringify(value), value });
  }
  return { kind: 'object', at: 0, raw: '{}', fields };
}
