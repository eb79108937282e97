/** The effect that a price change would have had on the last 30 days: figures, two bars and an explanation. */
import type { PricePreview } from '../../../../../src/modules/console/operator-shapes.js';
import { grouped, usd } from '../../format/money.js';
import { localDay, span } from '../../format/time.js';
import { Amount } from '../../parts/figures.js';
import { Facts, Lines, type Column } from '../../parts/lines.js';
import { Notice } from '../../parts/notice.js';
import { PRICING } from '../../text/pricing.js';

type Effect = PricePreview['effect'];
const text = PRICING.effect;
const titles = text.projectColumns;
const PROJECTS: readonly Column<Effect['projects'][number]>[] = [
  { title: titles.project, cell: ({ name }) => name },
  { title: titles.before, cell: ({ before }) => usd(before.credits), isFigure: true },
  { title: titles.after, cell: ({ after }) => usd(after.credits), isFigure: true },
];

export function PriceEffect({ preview }: { readonly preview: PricePreview }) {
  const { effect, doubts, edges } = preview;
  return (
    <div className="stack">
      {doubts.length > 0 && (
        <Notice tone="warn" title={text.doubts}>
          <ul>
            {doubts.map((doubt) => (
              <li key={doubt}>{doubt}</li>
            ))}
          </ul>
        </Notice>
      )}
      {effect.orders === 0 ? <p>{text.noOrders}</p> : <Figures effect={effect} />}
      {edges.length > 0 && (
        <>
          <h3>{text.edges}</h3>
          <ul>
            {edges.map((edge) => (
              <li key={edge.duration_max_sec}>
                {text.edge(
                  span(edge.duration_max_sec),
                  least(edge.least_energy_before),
                  least(edge.least_energy_after),
                )}
              </li>
            ))}
          </ul>
        </>
      )}
      {effect.projects.length > 0 && (
        <>
          <h3>{text.projects}</h3>
          <Lines caption={text.projectsCaption} columns={PROJECTS} items={effect.projects} keyOf={({ id }) => id} />
        </>
      )}
    </div>
  );
}

const least = (energy: number | undefined) => (energy === undefined ? text.noneWorth : grouped(energy));

function Figures({ effect }: { readonly effect: Effect }) {
  const { revenue, revenue_after: after, difference, not_worth_renting: refused, too_long: tooLong, covered } = effect;
  const most = Math.max(revenue.credits, after.credits, 1);
  const count = (orders: number) => text.ordersOf(grouped(orders));
  return (
    <>
      <p>{text.lead(localDay(new Date(effect.from)), localDay(new Date(effect.to)), grouped(effect.orders))}</p>
      {covered !== undefined && <p>{text.covered(grouped(covered.orders), localDay(new Date(covered.since)))}</p>}
      <div className="bars">
        <Bar name={text.before} credits={revenue.credits} most={most} />
        <Bar name={text.after} credits={after.credits} most={most} />
      </div>
      <Facts
        of={[
          [text.difference, <Amount key="difference" credits={difference.credits} isBalance isSigned withoutCredits />],
          [
            text.refused,
            refused.orders === 0 ? undefined : `${count(refused.orders)}, ${usd(refused.revenue.credits)}`,
          ],
          [
            text.tooLong,
            tooLong.orders === 0 ? undefined : `${count(tooLong.orders)}, ${usd(tooLong.revenue.credits)}`,
          ],
        ]}
      />
      <p className="dim">{text.assumption}</p>
    </>
  );
}

interface BarProps {
  readonly name: string;
  readonly credits: number;
  readonly most: number;
}

function Bar({ name, credits, most }: BarProps) {
  const width = Math.round((Math.max(credits, 0) / most) * 1000);
  return (
    <div className="bar">
      <span>{name}</span>
      <svg viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">
        <rect width={width} height="10" />
      </svg>
      <strong>{usd(credits)}</strong>
    </div>
  );
}
