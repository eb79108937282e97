// Reads the pages of a PDF that Chromium printed: size, and text without its spaces.
import { inflateSync } from 'node:zlib';

interface PdfPage {
  /** In points, rounded. */
  readonly size: readonly [number, number];
  readonly text: string;
}

interface PdfObject {
  readonly dictionary: string;
  readonly stream: string;
}

interface Font {
  /** Hex digits of one code. */
  readonly digits: number;
  readonly letters: ReadonlyMap<number, string>;
}

/** Returns the pages in order. Knows only what Chromium writes: plain objects, deflated streams, ToUnicode maps. */
export function pagesOfPdf(file: Buffer): PdfPage[] {
  const objects = objectsOf(file);
  const at = (reference: string | undefined): PdfObject => {
    const found = objects.get(Number(reference));
    if (found === undefined) throw new Error(`the PDF has no object ${reference ?? 'of that name'}`);
    return found;
  };
  const fonts = new Map<string, Font>();
  const fontAt = (reference: string): Font => {
    const known = fonts.get(reference) ?? fontOf(at(reference), at);
    fonts.set(reference, known);
    return known;
  };
  return pageTree(objects, at).map(({ dictionary }) => {
    const [, width, height] = /\/MediaBox ?\[0 0 ([\d.]+) ([\d.]+)\]/.exec(dictionary) ?? [];
    const resources = /\/Resources (\d+) 0 R/.exec(dictionary);
    const named = resources === null ? dictionary : at(resources[1]).dictionary;
    const pageFonts = new Map(
      [...named.matchAll(/\/(F\d+) (\d+) 0 R/g)].map(([, name = '', reference = '']) => [name, fontAt(reference)]),
    );
    const contents = at(/\/Contents (\d+) 0 R/.exec(dictionary)?.[1]);
    return { size: [Math.round(Number(width)), Math.round(Number(height))], text: textOf(contents.stream, pageFonts) };
  });
}

function objectsOf(file: Buffer): ReadonlyMap<number, PdfObject> {
  const text = file.toString('latin1');
  const found = new Map<number, PdfObject>();
  for (const start of text.matchAll(/(?:^|\n)(\d+) 0 obj\s/g)) {
    const from = start.index + start[0].length;
    const end = text.indexOf('endobj', from);
    const streamAt = text.indexOf('stream', from);
    const isStream = streamAt >= 0 && streamAt < end;
    const dictionary = text.slice(from, isStream ? streamAt : end);
    found.set(Number(start[1]), { dictionary, stream: isStream ? streamIn(file, text, streamAt, dictionary) : '' });
  }
  return found;
}

function streamIn(file: Buffer, text: string, at: number, dictionary: string): string {
  const from = text.indexOf('\n', at) + 1;
  const length = Number(/\/Length (\d+)/.exec(dictionary)?.[1]);
  const bytes = file.subarray(from, from + length);
  if (!dictionary.includes('/FlateDecode')) return bytes.toString('latin1');
  return dictionary.includes('/Subtype /Image') ? '' : inflateSync(bytes).toString('latin1');
}

/** Returns the pages in the order of the tree. */
function pageTree(
  objects: ReadonlyMap<number, PdfObject>,
  at: (reference: string | undefined) => PdfObject,
): PdfObject[] {
  const root = [...objects.values()].find(({ dictionary }) => /\/Type ?\/Catalog/.test(dictionary));
  const under = (node: PdfObject): PdfObject[] => {
    const kids = /\/Kids ?\[([^\]]*)\]/.exec(node.dictionary)?.[1];
    if (kids === undefined) return [node];
    return [...kids.matchAll(/(\d+) 0 R/g)].flatMap(([, kid]) => under(at(kid)));
  };
  return under(at(/\/Pages (\d+) 0 R/.exec(root?.dictionary ?? '')?.[1]));
}

function fontOf({ dictionary }: PdfObject, at: (reference: string | undefined) => PdfObject): Font {
  const digits = /\/Subtype ?\/Type0/.test(dictionary) ? 4 : 2;
  const letters = new Map<number, string>();
  const map = at(/\/ToUnicode (\d+) 0 R/.exec(dictionary)?.[1]).stream;
  const letterOf = (hex: string): string => Buffer.from(hex, 'hex').swap16().toString('utf16le');
  for (const [, body = ''] of map.matchAll(/beginbfchar([^]*?)endbfchar/g)) {
    for (const [, code = '', letter = ''] of body.matchAll(/<(\w+)> <(\w+)>/g)) {
      letters.set(parseInt(code, 16), letterOf(letter));
    }
  }
  for (const [, body = ''] of map.matchAll(/beginbfrange([^]*?)endbfrange/g)) {
    for (const [, first = '', last = '', letter = ''] of body.matchAll(/<(\w+)> <(\w+)> <(\w+)>/g)) {
      const [from, base] = [parseInt(first, 16), parseInt(letter, 16)];
      for (let code = from; code <= parseInt(last, 16); code += 1) {
        letters.set(code, String.fromCodePoint(base + code - from));
      }
    }
  }
  return { digits, letters };
}

/** Decodes the shown codes of each font in the order of the page's operators. */
function textOf(content: string, fonts: ReadonlyMap<string, Font>): string {
  let font: Font | undefined;
  let text = '';
  for (const [, name, codes] of content.matchAll(/\/(F\d+) [\d.]+ Tf|<([\da-fA-F]+)>/g)) {
    if (name !== undefined) font = fonts.get(name);
    if (codes === undefined || font === undefined) continue;
    for (let index = 0; index < codes.length; index += font.digits) {
      text += font.letters.get(parseInt(codes.slice(index, index + font.digits), 16)) ?? '';
    }
  }
  // A font may draw two letters as one.
  return text.normalize('NFKC').replaceAll(/\s/g, '');
}
