// Reads the pages of docs/operating as their reader does: sections, code blocks and the commands to type.
import { readFileSync } from 'node:fs';

/** Returns the text of a page of docs/operating. */
export function pageOf(name: string): string {
  return readFileSync(new URL(`../../../docs/operating/${name}.md`, import.meta.url), 'utf8');
}

/** Returns the text under a heading of the page, up to the next heading of the same or a higher level. */
export function section(name: string, title: string): string {
  const [, marks, rest] = new RegExp(`^(##+) ${title}\n([^]*)`, 'm').exec(pageOf(name)) ?? [];
  if (marks === undefined || rest === undefined) throw new Error(`docs/operating/${name}.md has no section “${title}”`);
  return rest.split(new RegExp(`^#{2,${marks.length.toString()}} `, 'm'))[0]!;
}

/** Returns the fenced blocks without the indentation of their list. */
export function blocksIn(text: string): string[] {
  return [...text.matchAll(/^( *)```\w*\n([^]*?)^ *```$/gm)].map(([, indent, block]) =>
    block!.replaceAll(new RegExp(`^${indent!}`, 'gm'), '').trim(),
  );
}

/** Returns the code spans, each on one line. */
export function spansIn(text: string): string[] {
  return [...text.replaceAll(/^ *```[^]*?^ *```$/gm, '').matchAll(/`([^`]+)`/g)].map((match) =>
    match[1]!.replaceAll(/\s+/g, ' '),
  );
}

/** Returns every `cli …` command in a span or a block, each once. */
export function commandsIn(text: string): string[] {
  const lines = blocksIn(text).flatMap((block) => block.split('\n'));
  return [...new Set([...spansIn(text), ...lines].filter((line) => line.startsWith('cli ')))];
}
