// Finds the links, paths, identifiers and commands that the documents and comments of this repository name.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
/** Written by a build or an installation, never by hand. */
const MADE = new Set(['.git', '.cache', 'node_modules', 'dist', 'coverage', 'package-lock.json']);
/** Recorded or generated data without prose. */
const DATA = /\.(?:json|jsonl|svg|sol)$|^test\/chaos\/planted-results|^openapi\.json$/;

export interface Text {
  readonly path: string;
  readonly text: string;
}

/** Every file and folder, by its path from the repository's root. */
export const paths: ReadonlySet<string> = new Set(walk(''));

const texts: readonly Text[] = [...paths]
  .filter((path) => !path.endsWith('/') && !DATA.test(path))
  .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));

export const pages: readonly Text[] = texts.filter(({ path }) => path.endsWith('.md'));
export const sources: readonly Text[] = texts.filter(({ path }) => !path.endsWith('.md'));

function walk(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true })
    .filter(({ name }) => !MADE.has(name))
    .flatMap((entry) => {
      const path = folder + entry.name;
      return entry.isDirectory() ? [`${path}/`, ...walk(`${path}/`)] : [path];
    });
}

/** Removes the fenced blocks of a page. */
function withoutBlocks(text: string): string {
  return text.replaceAll(/^ *```[^]*?^ *```$/gm, '');
}

/** Returns the code spans of a page, each on one line, and each line of its fenced blocks. */
export function codeIn(text: string): string[] {
  const spans = [...withoutBlocks(text).matchAll(/`([^`]+)`/g)].map((match) => match[1]!.replaceAll(/\s+/g, ' '));
  const blocks = [...text.matchAll(/^ *```\w*\n([^]*?)^ *```$/gm)].flatMap((match) => match[1]!.split('\n'));
  return [...spans, ...blocks.map((line) => line.trim())];
}

/** Returns the comments of a source file. */
function commentsIn({ path, text }: Text): string[] {
  const mark = /\.(?:[cm]?[jt]s|php|go)$/.test(path) ? /(?:^|\s)(?:\/\/|\/?\*+)(?=\s|$)(.*)/ : /(?:^|\s)#(?=\s)(.*)/;
  return text.split('\n').flatMap((line) => mark.exec(line)?.[1] ?? []);
}

/** Returns a source file without its comments. */
export function withoutComments({ path, text }: Text): string {
  // Comments in this file show unset settings, so they stay.
  if (path === '.env.example') return text;
  const mark = /\.(?:[cm]?[jt]s|php|go)$/.test(path) ? /^\s*(?:\/\/|\/?\*+(?:\s|$)).*|\s\/\/\s.*/gm : /^\s*#.*/gm;
  return text.replaceAll(mark, '');
}

/** The code of pages and the comments of source files. */
export const sayings: readonly Text[] = [
  ...pages.map(({ path, text }) => ({ path, text: codeIn(text).join('\n') })),
  ...sources.map((source) => ({ path: source.path, text: commentsIn(source).join('\n') })),
];

/** Returns the matches of `pattern` that `isKnown` rejects, as `file: match`. */
export function unknown(from: readonly Text[], pattern: RegExp, isKnown: (found: string) => boolean): string[] {
  return from.flatMap(({ path, text }) =>
    [...new Set([...text.matchAll(pattern)].map((match) => match[1]!))]
      .filter((found) => !isKnown(found))
      .map((found) => `${path}: ${found}`),
  );
}

/**
 * Returns true when a path with `*` and `{a,b}` matches a path of the repository, or with `anywhere` the end of one.
 */
export function isPath(named: string, anywhere: boolean): boolean {
  const pattern = named
    .replace(/\/$/, '')
    .replaceAll('.', '\\.')
    .replaceAll(/\*+/g, (stars) => (stars === '**' ? '.+' : '[^/]+'))
    .replaceAll(/\{([^}]*)\}/g, (_, names: string) => `(?:${names.replaceAll(',', '|')})`);
  const whole = new RegExp(`^${anywhere ? '(?:.*/)?' : ''}${pattern}/?$`);
  return [...paths].some((path) => whole.test(path));
}

/** Returns the page's links into this repository: the path, and the anchor or ''. */
export function linksOf({ path, text }: Text): { readonly to: string; readonly anchor: string }[] {
  const targets = [...withoutBlocks(text).matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1]!);
  return targets
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [file, anchor = ''] = target.split('#');
      return { to: file === '' ? path : normalize(join(dirname(path), file!)), anchor };
    });
}

/** Returns the anchors of the page's headings, as GitHub forms them. */
export function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, title] of withoutBlocks(text).matchAll(/^#+ (.+)$/gm)) {
    const slug = title!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(/\s/g, '-');
    let anchor = slug;
    for (let count = 1; anchors.has(anchor); count += 1) anchor = `${slug}-${count.toString()}`;
    anchors.add(anchor);
  }
  return anchors;
}
