// The fenced blocks of a page.

export interface Block {
  /** The text after the fence. */
  readonly kind: string;
  readonly text: string;
  /** The file name in a program's first line. */
  readonly file: string | undefined;
  /** Page and line of the fence, for messages. */
  readonly where: string;
}

const FENCE = /^ *```(.*)$/;
const NAMED = /^(?:\/\/|#) ([\w-]+\.\w+)$/;

/** Returns every fenced block of a page, in page order. */
export function blocksOf(path: string, page: string): Block[] {
  const blocks: Block[] = [];
  let open: { readonly kind: string; readonly line: number; readonly lines: string[] } | undefined;
  for (const [index, line] of page.split('\n').entries()) {
    const fence = FENCE.exec(line);
    if (fence === null) open?.lines.push(line);
    else if (open === undefined) open = { kind: fence[1]!.trim(), line: index + 1, lines: [] };
    else {
      const { kind, line: begun, lines } = open;
      const file = NAMED.exec(lines[0] ?? '')?.[1];
      blocks.push({ kind, text: `${lines.join('\n')}\n`, file, where: `${path}:${begun.toString()}` });
      open = undefined;
    }
  }
  if (open !== undefined) throw new Error(`${path}:${open.line.toString()} is a block without an end`);
  return blocks;
}

/** Returns the program that the page saves under this name. Throws without one. */
export function programOf(blocks: readonly Block[], file: string): string {
  const found = blocks.find((block) => block.file === file);
  if (found === undefined) throw new Error(`no block is named ${file}`);
  return found.text;
}

/** Returns names and types of all members, at every depth. A list is represented by its first entry. */
export function membersOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(membersOf);
  if (typeof value !== 'object' || value === null) return typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, membersOf(member)]));
}

/** Replaces addresses, ids, times and numbers, so that two runs yield the same text. */
export function steady(text: string): string {
  return text
    .trim()
    .replaceAll(/\bT[1-9A-HJ-NP-Za-km-z]{33}\b/g, 'T…')
    .replaceAll(/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{32,}\b/g, 'id')
    .replaceAll(/\d[\d.:TZ-]*(?<![.:-])/g, '#');
}
