// One viewer's page with its recorded errors, and `UserInput`, which acts by mouse or by keyboard alone.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { BrowserContext, Locator, Page } from 'playwright-core';
import type { Account, ConsoleCluster } from './cluster.js';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const STOPS_MAX = 150;
const DAY_MS = 86_400_000;

export type By = 'mouse' | 'keyboard';

export interface ViewOptions {
  readonly account?: Account;
  readonly width?: number;
  readonly theme?: 'light' | 'dark';
  /** Days by which the viewer's clock is ahead, so that no shown date is today. */
  readonly daysAhead?: number;
  /** Age of the account's last password entry in seconds; 0 by default. */
  readonly agoSec?: number;
}

interface AxeViolation {
  readonly id: string;
  readonly nodes: readonly { readonly target: readonly unknown[]; readonly failureSummary: string }[];
}

/** A console page in its own browser context; `close` ends it. */
export class View {
  /** Script errors and policy refusals. */
  readonly faults: string[] = [];

  private constructor(
    readonly page: Page,
    private readonly context: BrowserContext,
  ) {
    page.on('pageerror', (error) => this.faults.push(error.message));
    page.on('console', (message) => {
      if (/Content Security Policy|Refused to/.test(message.text())) this.faults.push(message.text());
    });
  }

  static async open(cluster: ConsoleCluster, url: string, options: ViewOptions = {}): Promise<View> {
    const { account, width = 1440, theme = 'light', daysAhead = 0 } = options;
    const context = await cluster.browser.newContext({
      viewport: { width, height: width < 768 ? 780 : 900 },
      colorScheme: theme,
      reducedMotion: 'reduce',
      timezoneId: 'America/New_York',
      locale: 'en-US',
    });
    context.setDefaultTimeout(30_000);
    const { origin } = new URL(url);
    if (account !== undefined) await cluster.freshen(account, options.agoSec);
    if (account !== undefined) await context.addCookies(account.cookies.map((cookie) => ({ ...cookie, url: origin })));
    const view = new View(await context.newPage(), context);
    if (daysAhead > 0) await view.page.clock.setSystemTime(Date.now() + daysAhead * DAY_MS);
    await view.page.goto(url);
    return view;
  }

  heading(text: string | RegExp): Locator {
    return this.page.getByRole('heading', { level: 1, name: text });
  }

  async offline(isOff: boolean): Promise<void> {
    await this.context.setOffline(isOff);
  }

  /** Returns axe's findings as text; empty without any. */
  async axe(): Promise<string[]> {
    await this.page.evaluate(AXE);
    const violations = await this.page.evaluate(async (rules) => {
      const { axe } = globalThis as unknown as {
        axe: { run(node: unknown, options: object): Promise<{ violations: unknown[] }> };
      };
      const page = (globalThis as unknown as { document: unknown }).document;
      return (await axe.run(page, { runOnly: rules })).violations;
    }, RULES);
    return (violations as AxeViolation[]).flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id} at ${target.join(' ')}: ${failureSummary}`),
    );
  }

  /** Shows the page in this font if the machine has it. */
  async useFont(name: string): Promise<void> {
    await this.page.evaluate(
      `document.documentElement.style.setProperty('--mantine-font-family', ${JSON.stringify(`"${name}", sans-serif`)})`,
    );
  }

  /** Returns the pixels by which the page is wider than its window. */
  async overflow(): Promise<number> {
    return this.page.evaluate(() => {
      const { document, innerWidth } = globalThis as unknown as {
        document: { documentElement: { scrollWidth: number } };
        innerWidth: number;
      };
      return document.documentElement.scrollWidth - innerWidth;
    });
  }

  /** Returns the captions of the tables that scroll inside their frame. */
  async scrolling(): Promise<string[]> {
    return this.page.evaluate(() => {
      interface Frame {
        readonly scrollWidth: number;
        readonly clientWidth: number;
        querySelector(selector: string): { readonly textContent: string } | null;
      }
      const page = globalThis as unknown as { document: { querySelectorAll(selector: string): Iterable<Frame> } };
      return [...page.document.querySelectorAll('.lines-frame')]
        .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
        .map((frame) => frame.querySelector('caption')?.textContent ?? '');
    });
  }

  /** Returns the table figures that do not align with their column heads, as text; empty without any. */
  async misaligned(): Promise<string[]> {
    return this.page.evaluate(() => {
      interface Element {
        readonly cells: Element[];
        readonly textContent: string;
        readonly tHead: { readonly rows: Element[] };
        readonly tBodies: { readonly rows: Element[] }[];
        readonly classList: { contains(name: string): boolean };
      }
      const page = globalThis as unknown as {
        document: {
          querySelectorAll(selector: string): Iterable<Element>;
          createRange(): { selectNodeContents(of: Element): void; getBoundingClientRect(): { right: number } };
        };
        getComputedStyle(of: Element): { display: string };
      };
      const endOf = (cell: Element): number => {
        const range = page.document.createRange();
        range.selectNodeContents(cell);
        return range.getBoundingClientRect().right;
      };
      return [...page.document.querySelectorAll('table.lines')].flatMap(({ tHead, tBodies }) => {
        const heads = [...(tHead.rows[0]?.cells ?? [])];
        const cells = [...tBodies].flatMap(({ rows }) =>
          [...rows].flatMap((row) => [...row.cells].map((cell, at) => ({ cell, head: heads[at] }))),
        );
        return cells.flatMap(({ cell, head }) =>
          head !== undefined &&
          cell.classList.contains('figure') &&
          page.getComputedStyle(cell).display === 'table-cell' &&
          Math.abs(endOf(cell) - endOf(head)) > 1
            ? [`${head.textContent}: ${cell.textContent}`]
            : [],
        );
      });
    });
  }

  /** Returns the number of drawn pixels of a canvas. */
  async inkOf(selector: string): Promise<number> {
    return this.page.evaluate((of) => {
      interface Canvas {
        readonly width: number;
        readonly height: number;
        getContext(kind: '2d'): {
          getImageData(x: number, y: number, width: number, height: number): { readonly data: Iterable<number> };
        };
      }
      const page = globalThis as unknown as { document: { querySelector(text: string): Canvas | null } };
      const canvas = page.document.querySelector(of);
      if (canvas === null) return 0;
      const points = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
      return [...points].filter((value, at) => at % 4 === 3 && value > 0).length;
    }, selector);
  }

  async close(): Promise<void> {
    await this.context.close();
  }
}

/** Presses, types and chooses. By keyboard it tabs from stop to stop, as people without a mouse do. */
export class UserInput {
  constructor(
    private readonly page: Page,
    private readonly by: By,
  ) {}

  async press(what: Locator): Promise<void> {
    if (this.by === 'mouse') {
      await what.click();
      return;
    }
    await this.reach(what);
    await this.page.keyboard.press('Enter');
  }

  async tick(box: Locator): Promise<void> {
    if (this.by === 'mouse') {
      await box.check();
      return;
    }
    await this.reach(box);
    await this.page.keyboard.press('Space');
  }

  async type(field: Locator, text: string): Promise<void> {
    if (this.by === 'mouse') {
      await field.fill(text);
      return;
    }
    await this.reach(field);
    await this.page.keyboard.insertText(text);
  }

  /** Chooses one of a group of radio buttons; by keyboard with the arrow keys. */
  async choose(radio: Locator, group: Locator): Promise<void> {
    if (this.by === 'mouse') {
      await radio.check();
      return;
    }
    await this.reach(group.locator('input:checked'));
    for (let stop = 0; stop < STOPS_MAX && !(await radio.isChecked()); stop += 1) {
      await this.page.keyboard.press('ArrowDown');
    }
  }

  private async reach(what: Locator): Promise<void> {
    await what.waitFor();
    for (let stop = 0; stop < STOPS_MAX; stop += 1) {
      const isHere = await what.evaluate((element) => element === element.ownerDocument.activeElement);
      if (isHere) return;
      await this.page.keyboard.press('Tab');
    }
    throw new Error(`the keyboard does not reach ${what.toString()}`);
  }
}

export const button = ({ page }: View, name: string | RegExp): Locator =>
  page.getByRole('button', { name, exact: typeof name === 'string' });
export const field = ({ page }: View, label: string | RegExp): Locator => page.getByRole('textbox', { name: label });
/** The page's only password field. */
export const password = ({ page }: View): Locator => page.locator('input[type=password]');
