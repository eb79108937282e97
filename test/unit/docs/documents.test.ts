// Everything that documents and comments name must exist, and every page must be linked.
import 'reflect-metadata';
import { readFileSync } from 'node:fs';
import { pageTableOf, readFigures, tableIn } from '../../programmes/bench/figures.js';
import { runCli } from '../../../src/modules/operator/cli.js';
import { blocksOf } from '../../support/docs/page-blocks.js';
import {
  anchorsOf,
  codeIn,
  isPath,
  linksOf,
  pages,
  paths,
  sayings,
  sources,
  unknown,
  withoutComments,
} from '../../support/docs/documents.js';

const read = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
const pageAt = (path: string) => pages.find((page) => page.path === path || page.path === `${path}/README.md`);
const everything = [...pages, ...sources];

it('every link of a page leads to a file, and its anchor to a heading', () => {
  const dead = pages.flatMap((page) =>
    linksOf(page)
      .filter(({ to, anchor }) => {
        if (!paths.has(to) && !paths.has(`${to}/`)) return true;
        return anchor !== '' && !anchorsOf(pageAt(to)?.text ?? '').has(anchor);
      })
      .map(({ to, anchor }) => `${page.path}: ${to}#${anchor}`),
  );
  expect(dead).toEqual([]);
});

it('every page can be reached from README.md', () => {
  const reached = new Set(['README.md']);
  for (const path of reached) {
    for (const { to } of linksOf(pageAt(path)!)) {
      const page = pageAt(to.replace(/\/$/, ''));
      if (page !== undefined) reached.add(page.path);
    }
  }
  expect(pages.map(({ path }) => path).filter((path) => !reached.has(path))).toEqual([]);
});

/** A valid line of a sequence diagram. In mermaid a semicolon ends a statement, and # starts a character code. */
const SEQUENCE =
  /^ *(?:sequenceDiagram|autonumber|participant \w+ as [\w ]+|(?:Note over \w+,\w+|\w+-?-(?:>>|\))\w+): [^;#]+)$/;
/** A valid line of a flowchart: two nodes with an arrow between them, each labelled at its first use. */
const FLOW =
  /^ *(?:flowchart LR|(?:\w+(?:\[\(?[\w ]+\)?\]|\(\(?[\w ]+\)?\))?(?: (?:-->|-\.->)(?:\|[\w ,-]+\|)? |$)){2})$/;
const isDrawn = (line: string): boolean => SEQUENCE.test(line) || FLOW.test(line);

it('mermaid can read every line of a diagram', () => {
  const drawn = pages.flatMap(({ text }) => [...text.matchAll(/```mermaid\n([^]*?)\n```/g)].map((match) => match[1]!));
  expect(drawn.length).toBeGreaterThan(0);
  expect(drawn.flatMap((text) => text.split('\n')).filter((line) => line !== '' && !isDrawn(line))).toEqual([]);
});

/** Created by a build or by the operator, and not in the repository. */
const MADE = /^docker\/(?:(?:api|worker|cli)?\.env|signer(?:\/.+)?)$|\/dist\//;

it('every path that a page or a comment names exists', () => {
  const named = /(?<![\w/.@:-])((?:src|test|docs|docker|bench|examples|packages|\.ci)\/[\w@.*{},/-]*[\w*}/])/g;
  const isKnown = (path: string): boolean => MADE.test(path) || isPath(path, false);
  expect(unknown(sayings, named, isKnown)).toEqual([]);
});

/** File names under which a page's reader saves programs. */
const saved = new Set(pages.flatMap(({ path, text }) => blocksOf(path, text).flatMap(({ file }) => file ?? [])));

it('every file that a page or a comment names, with any part of its folder, exists', () => {
  const named =
    /(?<![\w/.@:*{},<-])(?:\.\.?\/)*((?:[\w@.-]+\/)*[\w@.-]+\.(?:ts|mjs|cjs|md|sh|yml|yaml|svg|service|timer))\b/g;
  const isKnown = (file: string): boolean => saved.has(file) || isPath(file.replace('NNNN-name', '*'), true);
  expect(unknown(sayings, named, isKnown)).toEqual([]);
});

it('docs/architecture.md lists every folder of processes, modules and platform, and no file lies beside them', () => {
  const named = new Set(codeIn(read('docs/architecture.md')));
  const own = [...paths].filter((path) => /^src\/(?:domain|(?:apps|modules|platform)\/[^/]+)\/?$/.test(path));
  expect(own.length).toBeGreaterThan(40);
  expect(own.filter((path) => !named.has(path.replace(/\/$/, '')))).toEqual([]);
  const top = [...paths].filter((path) => /^src\/[^/]+\/?$/.test(path)).map((path) => path.replace(/\/$/, ''));
  expect(top.sort()).toEqual(['src/apps', 'src/domain', 'src/modules', 'src/platform']);
});

it('every term of the glossary names its place in the code', () => {
  const [, ...entries] = read('docs/glossary.md').split(/^- (?=\*\*)/m);
  expect(entries.length).toBeGreaterThan(70);
  const isPlaced = (entry: string): boolean => / \(`src\/[^()]*`\)$/.test(entry.replace(/\n\n.*/s, '').trim());
  expect(entries.filter((entry) => !isPlaced(entry.replaceAll(/\n {2}/g, ' ')))).toEqual([]);
});

it('every npm script that a page names exists', () => {
  const manifests = [...paths].filter((path) => path.endsWith('package.json'));
  const scripts = new Set(
    manifests.flatMap((path) => Object.keys((JSON.parse(read(path)) as { scripts?: object }).scripts ?? {})),
  );
  const named = /npm run (?:-s )?([a-z][\w-]*(?::[\w-]+)*)(?![\w:])/g;
  expect(unknown(everything, named, (name) => scripts.has(name))).toEqual([]);
});

it('every log message that a page quotes is in the code', () => {
  const code = sources.map(withoutComments).join('\n');
  const commands = new Set(['cli', 'journalctl', 'npm', 'project']);
  // Messages of Postgres and java-tron.
  const foreign = new Set(['too many clients already', 'this node does not support estimate energy']);
  const quoted = pages.flatMap(({ path, text }) =>
    [...text.replaceAll(/```[^]*?```/g, '').matchAll(/`([a-z]+)((?: [a-z][\w;:,'-]*){2,})`/g)]
      .filter(([, first]) => !commands.has(first!))
      .map(([, first, rest]) => ({ path, message: `${first!}${rest!}` })),
  );
  expect(quoted.length).toBeGreaterThan(5);
  // A message may be composed of "failed to", an action and "will retry".
  const isInCode = (message: string): boolean => code.includes(message.replace(/^failed to |; will retry$/g, ''));
  expect(quoted.filter(({ message }) => !foreign.has(message) && !isInCode(message))).toEqual([]);
});

/** Names of Postgres, systemd, the kernel and cryptography. */
const FOREIGN = new Set(['CLOCK_MONOTONIC', 'KillMode', 'hmac_sha256', 'xact_start']);
const words = new Set(
  [...sources.map(withoutComments), read('openapi.json')].flatMap((text) => text.match(/\w+/g) ?? []),
);
const isWord = (name: string): boolean => words.has(name) || words.has(name.replace(/_FILE$/, '')) || FOREIGN.has(name);

it('every variable, error code and constant that a page or a comment names exists in the code', () => {
  const named = /(?<![\w.-])([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?![\w…*-])/g;
  expect(unknown(sayings, named, isWord)).toEqual([]);
});

it('every column, metric, class and function that a page names exists in the code', () => {
  const named = /(?<![\w.-])([a-z]\w*_\w+|(?!T\w{33}\b)[A-Za-z]+[a-z][A-Z]\w*)(?![\w…*-])/g;
  const own = pages
    .filter(({ path }) => !path.startsWith('test/tron-node/'))
    // Diagrams have their own syntax.
    .map(({ path, text }) => ({ path, text: text.replaceAll(/```mermaid[^]*?```/g, '') }))
    // A URL may contain a random token, which is not an identifier.
    .map(({ path, text }) => ({
      path,
      text: codeIn(text)
        .join('\n')
        .replaceAll(/https?:\/\/\S+/g, ''),
    }));
  expect(unknown(own, named, isWord)).toEqual([]);
});

it('every route that a page or a comment names is in openapi.json', () => {
  const known = Object.keys((JSON.parse(read('openapi.json')) as { paths: object }).paths);
  const isKnown = (path: string): boolean =>
    known.some((each) => new RegExp(`^${each.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`).test(path));
  const named = /(?:GET|POST) (\/v1\/[\w/{}:….-]*[\w}…])/g;
  expect(unknown([...sayings, ...pages], named, isKnown)).toEqual([]);
});

it('every cited section exists in docs/interface.md and is cited with its name', () => {
  const sections = new Set([...read('docs/interface.md').matchAll(/^## (\d+)\. /gm)].map((match) => match[1]!));
  expect(unknown(everything, /§ ?(\d+)/g, (number) => sections.has(number))).toEqual([]);
  const others = everything.filter(({ path }) => path !== 'docs/interface.md');
  expect(unknown(others, /(?<!interface\.md(?: §\d+(?:,| and| to))*) (§ ?\d+)/g, () => false)).toEqual([]);
});

it('docs/interface.md has each section once, with its title and a link to the page that holds it', () => {
  const index = pageAt('docs/interface.md')!;
  const listed = index.text.split(/^## (?=\d)/m).slice(1);
  const held = pages
    .filter(({ path }) => path.startsWith('docs/interface/'))
    .flatMap(({ path, text }) => [...text.matchAll(/^## (\d+\. .+)$/gm)].map((match) => ({ path, title: match[1]! })));
  expect(listed.map((section) => section.split('\n')[0])).toEqual(
    held.map(({ title }) => title).sort((one, other) => parseInt(one) - parseInt(other)),
  );
  expect(held).toHaveLength(33);
  for (const { path, title } of held) {
    const section = listed.find((each) => each.startsWith(`${title}\n`))!;
    const [anchor] = anchorsOf(`## ${title}`);
    expect(linksOf({ path: index.path, text: section })).toContainEqual({ to: path, anchor });
  }
});

it('cites no document by a number that is not a section of docs/interface.md', () => {
  const own = everything.filter(({ path }) => !/^src\/platform\/database\/(?:migrations|sql)\//.test(path));
  expect(unknown(own, /\b((?:Contract|Spec) \d+)/g, () => false)).toEqual([]);
});

it('the table of test/programmes/bench/README.md shows the figures of test/programmes/bench/latest.json', () => {
  const table = tableIn(read('test/programmes/bench/README.md'));
  expect(table).toBe(pageTableOf(readFigures()));
  expect(table.split('\n').length).toBeLessThanOrEqual(42);
});

async function helpOf(command: string): Promise<string> {
  let text = '';
  const print = (part: string): void => {
    text += part;
  };
  await runCli([...command.split(' '), '--help'], { env: {}, user: '', out: print, err: print, ask: undefined });
  return text;
}

/** Commands to type: `cli pool add …`, `npm run -s cli -- pool add …`. */
const typed = [
  ...pages.flatMap(({ text }) => codeIn(text)),
  ...sources.flatMap(({ text }) => text.match(/(?<=`)(?:npm run|cli) [^`\n]*(?=`)/g) ?? []),
].flatMap((line) => /^(?:npm run (?:-s )?cli --|cli) ([a-z].*)/.exec(line.replaceAll('\\', ''))?.[1] ?? []);
const commandOf = (line: string): string => /^[a-z-]+(?: [a-z][a-z-]*(?= |$))?/.exec(line)![0];

it.each([...new Set(typed.map(commandOf))])(
  'cli %s exists and explains itself, with every option that a page names',
  async (command) => {
    const help = await helpOf(command);
    expect(help.split('\n')[0]).toContain(`npm run cli -- ${command}`);
    const known = new Set(help.match(/(?<= )--[a-z-]+/g));
    const options = typed
      .filter((line) => commandOf(line) === command)
      .flatMap((line) => line.match(/(?<= )--[a-z-]+/g) ?? []);
    expect(options.filter((option) => !known.has(option))).toEqual([]);
  },
);
