// The pages of docs/operating as their reader takes them: sections, numbered steps, and the commands to type.
import { readFileSync } from 'node:fs';

/** The text of a page of docs/operating. */
export function pageOf(name: string): string {
  return readFileSync(new URL(`../docs/operating/${name}.md`, import.meta.url), 'utf8');
}

/** The text under a heading of such a page, up to the next heading of its level or above. */
export function section(name: string, title: string): string {
  const [, marks, rest] = new RegExp(`^(##+) ${title}\n([^]*)`, 'm').exec(pageOf(name)) ?? [];
  if (marks === undefined || rest === undefined) throw new Error(`docs/operating/${name}.md has no section “${title}”`);
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
