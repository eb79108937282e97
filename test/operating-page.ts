// docs/operating.md as its reader takes it: sections, numbered steps, and the commands to type.
import { readFileSync } from 'node:fs';

const page = readFileSync(new URL('../docs/operating.md', import.meta.url), 'utf8');

/** The text under a heading, up to the next of its level or above. */
export function section(title: string): string {
  const [, marks, rest] = new RegExp(`^(##+) ${title}\n([^]*)`, 'm').exec(page) ?? [];
  if (marks === undefined || rest === undefined) throw new Error(`docs/operating.md has no section “${title}”`);
  return rest.split(new RegExp(`^#{2,${marks.length.toString()}} `, 'm'))[0]!;
}

/** What stands between fences, without the indent of the list it stands in. */
export function blocksIn(text: string): string[] {
  return [...text.matchAll(/^( *)```\w*\n([^]*?)^ *```$/gm)].map(([, indent, block]) =>
    block!.replaceAll(new RegExp(`^${indent!}`, 'gm'), '').trim(),
  );
}

/** What stands between single backquotes, on one line. */
export function spansIn(text: string): string[] {
  return [...text.replaceAll(/^ *```[^]*?^ *```$/gm, '').matchAll(/`([^`]+)`/g)].map((match) =>
    match[1]!.replaceAll(/\s+/g, ' '),
  );
}

/** Every line that a reader would type as `cli …`, in a sentence or in a block. */
export function commandsIn(text: string): string[] {
  const lines = blocksIn(text).flatMap((block) => block.split('\n'));
  return [...new Set([...spansIn(text), ...lines].filter((line) => line.startsWith('cli ')))];
}
