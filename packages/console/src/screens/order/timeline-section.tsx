/** The order's timeline. Chain time and database time have separate columns. */
import type { OrderMoment } from '../../../../../src/modules/console/data-shapes.js';
import { grouped, groupedIn } from '../../format/money.js';
import { Groups, Moment } from '../../parts/figures.js';
import { Lines, type Column } from '../../parts/lines.js';
import { Section } from '../../parts/page.js';
import { ORDER } from '../../text/orders.js';

const text = ORDER.timeline;
const COLUMNS: readonly Column<OrderMoment>[] = [
  { title: text.what, cell: ({ what }) => <strong>{groupedIn(what)}</strong> },
  { title: text.ours, cell: ({ at }) => (at === undefined ? '–' : <Moment at={at} />) },
  { title: text.chain, cell: ({ chain_at: at }) => (at === undefined ? '–' : <Moment at={at} />) },
  {
    title: text.proof,
    cell: ({ block_number: block, txid }) =>
      block === undefined && txid === undefined ? (
        '–'
      ) : (
        <>
          {block !== undefined && grouped(block)}
          {txid !== undefined && (
            <details className="help-inline">
              <summary>{ORDER.proof.txid}</summary>
              <Groups text={txid} name={ORDER.proof.txid} size={8} />
            </details>
          )}
        </>
      ),
  },
];

export function TimelineSection({ moments }: { readonly moments: readonly OrderMoment[] }) {
  return (
    <Section title={ORDER.sections.timeline} note={ORDER.sections.timelineNote}>
      <Lines
        caption={text.caption}
        columns={COLUMNS}
        items={moments}
        keyOf={({ what, at, chain_at: chainAt, txid }) => [what, at, chainAt, txid].join(' ')}
      />
    </Section>
  );
}
