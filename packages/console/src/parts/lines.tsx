/** A table where there is width, cards where there is none. */
import { useEffect, useRef, useState, type ReactNode } from 'react';

export interface Column<Item> {
  readonly title: string;
  readonly cell: (item: Item) => ReactNode;
  readonly isFigure?: boolean;
}

/** In a cell of a table; a card leaves the line out. */
const NOTHING = '–';

/** So many columns stay a table where more become cards. */
const FEW = 3;

interface LinesProps<Item> {
  /** What the table is of, for who cannot see where it stands. */
  readonly caption: string;
  readonly columns: readonly Column<Item>[];
  readonly items: readonly Item[];
  readonly keyOf: (item: Item) => string;
}

/** A frame that scrolls is a stop of the Tab key, so that the arrow keys reach what is beyond its edge. */
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

export function Lines<Item>({ caption, columns, items, keyOf }: LinesProps<Item>) {
  const { frame, scrolls } = useScrolls();
  return (
    <div ref={frame} className="lines-frame" {...(scrolls && { tabIndex: 0, role: 'region', 'aria-label': caption })}>
      <table className={columns.length <= FEW ? 'lines lines-few' : 'lines'}>
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

/** Names and what they are, one under the other. What is undefined is left out. */
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
