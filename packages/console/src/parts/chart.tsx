/** A chart over time: bars for the main series, lines for the others, and a sentence that summarises them. */
import { useComputedColorScheme } from '@mantine/core';
import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

const HEIGHT_PX = 180;
const AXIS_PX = 64;
const LABELS_PX = 28;
/** Minimum distance between two time labels. */
const LABEL_PX = 72;
const BAR_SHARE = 0.7;
const COLOURS = ['--line-strong', '--accent'] as const;
const HEADROOM = 1.05;

interface Drawn {
  readonly name: string;
  /** Values as the API sent them; decimals are text. */
  readonly values: readonly (number | string)[];
  /** Bars for values that belong to a whole day; a line for values at one moment. */
  readonly isBars?: boolean;
}

interface ChartProps {
  /** The summary sentence: the text alternative, also visible. */
  readonly says: string;
  readonly labels: readonly string[];
  /** At most two series, each as long as `labels`. */
  readonly drawn: readonly Drawn[];
  readonly format: (value: number) => string;
}

/** Shows a chart. The figures themselves are in a table next to it. */
export function Chart({ says, labels, drawn, format }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const scheme = useComputedColorScheme();
  const figures = JSON.stringify([labels, drawn, scheme]);
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const plot = new uPlot(optionsOf(labels, drawn, format, element.clientWidth), dataOf(labels, drawn), element);
    const observer = new ResizeObserver(() => {
      plot.setSize({ width: element.clientWidth, height: HEIGHT_PX });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [figures]);
  return (
    <figure className="chart">
      <figcaption>
        {says}
        <span className="chart-key" aria-hidden="true">
          {drawn.map(({ name }, index) => (
            <span key={name}>
              <span className={`swatch chart-${(index + 1).toString()}`} />
              {name}
            </span>
          ))}
        </span>
      </figcaption>
      <div ref={place} aria-hidden="true" />
    </figure>
  );
}

function dataOf(labels: readonly string[], drawn: readonly Drawn[]): uPlot.AlignedData {
  // oxlint-disable-next-line ban/float -- where a point is drawn is no amount
  const placed = (value: number | string): number => Number(value);
  return [labels.map((_, index) => index), ...drawn.map(({ values }) => values.map(placed))];
}

function optionsOf(
  labels: readonly string[],
  drawn: readonly Drawn[],
  format: (value: number) => string,
  width: number,
): uPlot.Options {
  const grid = { stroke: () => colour('--line'), width: 1 };
  return {
    width,
    height: HEIGHT_PX,
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: false, range: (_plot, first, last) => [first - 1 / 2, last + 1 / 2] },
      y: { range: (_plot, least, most) => [Math.min(0, least * HEADROOM), most > 0 ? most * HEADROOM : 1] },
    },
    axes: [
      {
        stroke: () => colour('--ink-dim'),
        grid: { show: false },
        ticks: { show: false },
        space: LABEL_PX,
        size: LABELS_PX,
        incrs: [1, 2, 4, 7, 14],
        values: (_plot, places) => places.map((at) => labels[at] ?? ''),
      },
      {
        stroke: () => colour('--ink-dim'),
        grid,
        ticks: { show: false },
        size: AXIS_PX,
        values: (_plot, places) => places.map(format),
      },
    ],
    series: [
      {},
      ...drawn.map(({ name, isBars }, index): uPlot.Series => {
        const ink = (): string => colour(COLOURS[index] ?? '--ink');
        const bars = uPlot.paths.bars?.({ size: [BAR_SHARE] });
        return {
          label: name,
          stroke: ink,
          width: isBars === true ? 0 : 2,
          points: { show: false },
          ...(isBars === true && { fill: ink, ...(bars !== undefined && { paths: bars }) }),
        };
      }),
    ],
  };
}

const colour = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name);
