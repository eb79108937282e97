/**
 * Renders the Markdown subset of docs/ as HTML: headings, paragraphs, lists, tables, fenced code, links. All text is
 * escaped.
 */

/** Returns the target of a link. For undefined only the link's text is shown. */
type LinkTo = (target: string) => string | undefined;

export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

/** Keeps the groups of a large number such as 65 000 on one line. */
export function keepNumbers(text: string): string {
  return text.replaceAll(/\b\d{1,3}(?: \d{3})+\b/g, (number) => number.replaceAll(' ', '\u00a0'));
}

export function titleOf(text: string): string {
  return /^# (.+)$/m.exec(text)?.[1] ?? '';
}

export function renderMarkdown(text: string, linkTo: LinkTo): string {
  const lines = text.replaceAll(/<!--.*?-->/gs, '').split('\n');
  const html: string[] = [];
  for (let at = 0; at < lines.length;) {
    const [block, next] = blockAt(lines, at, linkTo);
    html.push(block);
    at = next;
  }
  return html.join('\n');
}

/** Returns Markdown with the links of `linkTo`; of a link without a target only its text is left. */
export function relinkMarkdown(text: string, linkTo: LinkTo): string {
  const code: string[] = [];
  return text
    .replaceAll(/```[^]*?```|`[^`]+`/g, (inside) => hidden(code, inside))
    .replaceAll(LINK, (_, shown: string, target: string) => {
      const to = linkTo(target);
      return to === undefined ? shown : `[${shown}](${to})`;
    })
    .replaceAll(HIDDEN, (_, index: string) => code[Number(index)] ?? '');
}

const LINK = /\[([^[\]]+)\]\(([^)\s]+)\)/g;

/** A place where code was taken out of a text, with its index. */
const HIDDEN = /\0(\d+)\0/g;

function hidden(code: string[], inside: string): string {
  return `\0${(code.push(inside) - 1).toString()}\0`;
}

const FENCE = /^ *```/;
const HEADING = /^(#{1,4}) (.+)$/;
const ITEM = /^( *)(?:[-*]|(\d+)\.) (.*)$/;
const ROW = /^\|(.*)\|$/;

/** Renders the block that begins at a line. Returns it with the next line's index. */
function blockAt(lines: readonly string[], at: number, linkTo: LinkTo): readonly [string, number] {
  const line = lines[at] ?? '';
  if (line.trim() === '') return ['', at + 1];
  if (FENCE.test(line)) {
    const end = endOf(lines, at + 1, (each) => FENCE.test(each));
    return [`<pre>${escapeHtml(lines.slice(at + 1, end).join('\n'))}</pre>`, end + 1];
  }
  const [, marks, title] = HEADING.exec(line) ?? [];
  if (marks !== undefined && title !== undefined) {
    const level = marks.length.toString();
    return [`<h${level} id="${slugOf(title)}">${inline(title, linkTo)}</h${level}>`, at + 1];
  }
  if (ROW.test(line)) {
    const end = endOf(lines, at, (each) => !ROW.test(each));
    return [tableOf(lines.slice(at, end), linkTo), end];
  }
  if (ITEM.test(line)) {
    const end = endOf(lines, at, (each) => each.trim() === '');
    return [listOf(lines.slice(at, end), linkTo), end];
  }
  const end = endOf(lines, at, (each) => each.trim() === '' || FENCE.test(each) || ITEM.test(each) || ROW.test(each));
  return [`<p>${inline(lines.slice(at, end).join(' '), linkTo)}</p>`, end];
}

function endOf(lines: readonly string[], from: number, isEnd: (line: string) => boolean): number {
  const found = lines.findIndex((line, index) => index >= from && isEnd(line));
  return found < 0 ? lines.length : found;
}

/** An item that explains an error code with its status, such as `NOT_FOUND` (404), has the code as its anchor. */
const ERROR_ITEM = /^`([A-Z_]+)` \(\d{3}\):/;

/** Renders one list. A line that begins no item continues the item before it. */
function listOf(lines: readonly string[], linkTo: LinkTo): string {
  const items: string[] = [];
  for (const line of lines) {
    const text = ITEM.exec(line)?.[3];
    if (text !== undefined) items.push(text);
    else items.push(`${items.pop() ?? ''} ${line.trim()}`);
  }
  const tag = ITEM.exec(lines[0] ?? '')?.[2] === undefined ? 'ul' : 'ol';
  return `<${tag}>${items.map((item) => itemOf(item, linkTo)).join('')}</${tag}>`;
}

function itemOf(item: string, linkTo: LinkTo): string {
  const code = ERROR_ITEM.exec(item)?.[1];
  const id = code === undefined ? '' : ` id="${code}"`;
  return `<li${id}>${inline(item.replace(/^\[ \] /, '☐ '), linkTo)}</li>`;
}

function tableOf([head = '', , ...rows]: readonly string[], linkTo: LinkTo): string {
  const rowOf = (row: string, tag: string): string => {
    const cells = (ROW.exec(row)?.[1] ?? '')
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim().replaceAll(String.raw`\|`, '|'));
    return `<tr>${cells.map((cell) => `<${tag}>${inline(cell, linkTo)}</${tag}>`).join('')}</tr>`;
  };
  return `<table>${rowOf(head, 'th')}${rows.map((row) => rowOf(row, 'td')).join('')}</table>`;
}

/** Code is taken out first, so that nothing in it counts as markup. */
function inline(text: string, linkTo: LinkTo): string {
  const code: string[] = [];
  const bare = text.replaceAll(/`([^`]+)`/g, (_, inside: string) => hidden(code, inside));
  return escapeHtml(keepNumbers(bare))
    .replaceAll(/\*\*(.+?)\*\*/g, '<b>$1</b>')
    .replaceAll(/(?<![\w*])\*([^*\s][^*]*)\*(?![\w*])/g, '<i>$1</i>')
    .replaceAll(LINK, (_, shown: string, target: string) => {
      const to = linkTo(target);
      return to === undefined ? shown : `<a href="${to}">${shown}</a>`;
    })
    .replaceAll(HIDDEN, (_, index: string) => `<code>${escapeHtml(code[Number(index)] ?? '')}</code>`);
}

/** Returns the anchor that the repository's viewer gives a heading. */
function slugOf(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');
}
