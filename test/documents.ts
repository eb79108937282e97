// What documents and comments of this repository name: links, paths, words of code, commands.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Made by a build or an installation, never written by hand. */
const MADE = new Set(['.git', '.cache', 'node_modules', 'dist', 'coverage', 'package-lock.json']);
/** Recorded or generated data, in which nothing is said. */
const DATA = /\.(?:json|jsonl|svg|sol)$|^test\/chaos\/planted-results|^openapi\.json$/;

export interface Text {
  readonly path: string;
  readonly text: string;
}

/** Every file and folder of the repository, by its path from the root. */
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

/** A page without what stands between fences. */
function withoutBlocks(text: string): string {
  return text.replaceAll(/^ *```[^]*?^ *```$/gm, '');
}

/** What stands between single backquotes, on one line, and each line between fences. */
export function codeIn(text: string): string[] {
  const spans = [...withoutBlocks(text).matchAll(/`([^`]+)`/g)].map((match) => match[1]!.replaceAll(/\s+/g, ' '));
  const blocks = [...text.matchAll(/^ *```\w*\n([^]*?)^ *```$/gm)].flatMap((match) => match[1]!.split('\n'));
  return [...spans, ...blocks.map((line) => line.trim())];
}

/** The comments of a source; its other lines are code. */
function commentsIn({ path, text }: Text): string[] {
  const mark = /\.(?:[cm]?[jt]s|php|go)$/.test(path) ? /(?:^|\s)(?:\/\/|\/?\*+)(?=\s|$)(.*)/ : /(?:^|\s)#(?=\s)(.*)/;
  return text.split('\n').flatMap((line) => mark.exec(line)?.[1] ?? []);
}

/** A source without its comments. */
export function withoutComments({ path, text }: Text): string {
  // What is not set there is shown as a comment.
  if (path === '.env.example') return text;
  const mark = /\.(?:[cm]?[jt]s|php|go)$/.test(path) ? /^\s*(?:\/\/|\/?\*+(?:\s|$)).*|\s\/\/\s.*/gm : /^\s*#.*/gm;
  return text.replaceAll(mark, '');
}

/** What a page says in code, and what a source says in comments. */
export const sayings: readonly Text[] = [
  ...pages.map(({ path, text }) => ({ path, text: codeIn(text).join('\n') })),
  ...sources.map((source) => ({ path: source.path, text: commentsIn(source).join('\n') })),
];

/** Every match of `pattern` in `from`, as "file: what" of those that `isKnown` does not know. */
export function unknown(from: readonly Text[], pattern: RegExp, isKnown: (found: string) => boolean): string[] {
  return from.flatMap(({ path, text }) =>
    [...new Set([...text.matchAll(pattern)].map((match) => match[1]!))]
      .filter((found) => !isKnown(found))
      .map((found) => `${path}: ${found}`),
  );
}

/** Whether a path with `*` and `{a,b}` is one of the repository's, or the last part of one. */
export function isPath(named: string, anywhere: boolean): boolean {
  const pattern = named
    .replace(/\/$/, '')
    .replaceAll('.', '\\.')
    .replaceAll(/\*+/g, (stars) => (stars === '**' ? '.+' : '[^/]+'))
    .replaceAll(/\{([^}]*)\}/g, (_, names: string) => `(?:${names.replaceAll(',', '|')})`);
  const whole = new RegExp(`^${anywhere ? '(?:.*/)?' : ''}${pattern}/?$`);
  return [...paths].some((path) => whole.test(path));
}

/** Where a page points to in this repository: the path, and the anchor or ''. */
export function linksOf({ path, text }: Text): { readonly to: string; readonly anchor: string }[] {
  const targets = [...withoutBlocks(text).matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1]!);
  return targets
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [file, anchor = ''] = target.split('#');
      return { to: file === '' ? path : normalize(join(dirname(path), file!)), anchor };
    });
}

/** The anchors that a page's headings get where it is shown. */
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
