/** A table on wide screens, cards on narrow ones. */
import { useEffect, useRef, useState, type ReactNode } from 'react';

export interface Column<Item> {
  readonly title: string;
  readonly cell: (item: Item) => ReactNode;
  readonly isFigure?: boolean;
}

/** Placeholder of an empty table cell; a card omits the line. */
const NOTHING = '–';

/** Tables with at most this many columns stay tables where wider ones become cards. */
const FEW = 3;
/** Tables with at least this many columns have narrower ones. */
const MANY = 9;

interface LinesProps<Item> {
  /** Table caption, for screen readers. */
  readonly caption: string;
  readonly columns: readonly Column<Item>[];
  readonly items: readonly Item[];
  readonly keyOf: (item: Item) => string;
}

/** Makes a scrolling frame focusable by Tab, so that the arrow keys can scroll it. */
function useScrolls() {
  const frame = useRef<HTMLDivElement>(null);
  const [scrolls, setScrolls] = useState(false);
  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => setScrolls(element.scrollWidth > element.clientWidth));
    observer.observe(element);
    if (element.firstElementChild !== null) observer.observe(element.firstElementChild);
    return () => observer.disconnect();
  }, []);
  return { frame, scrolls };
}

function sizeOf(columns: number): string {
  if (columns <= FEW) return ' lines-few';
  return columns >= MANY ? ' lines-many' : '';
}

export function Lines<Item>({ caption, columns, items, keyOf }: LinesProps<Item>) {
  const { frame, scrolls } = useScrolls();
  return (
    <div ref={frame} className="lines-frame" {...(scrolls && { tabIndex: 0, role: 'region', 'aria-label': caption })}>
      <table className={`lines${sizeOf(columns.length)}`}>
        <caption className="only-read">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ title, isFigure }) => (
              <th key={title} scope="col" className={isFigure === true ? 'figure' : undefined}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {items.map((item) => (
            <tr key={keyOf(item)}>
              {columns.map(({ title, cell, isFigure }) => {
                const shown = cell(item);
                return (
                  <td
                    key={title}
                    data-label={title}
                    className={isFigure === true ? 'figure' : undefined}
                    {...(shown === NOTHING && { 'data-nothing': true })}
                  >
                    <div>{shown}</div>
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A list of names and values. Undefined values are left out. */
export function Facts({ of }: { readonly of: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="facts">
      {of
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => (
          <div key={name} className="fact">
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
