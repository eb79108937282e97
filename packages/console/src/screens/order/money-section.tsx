/** The order's price, the cost of burning, refunds, and its ledger entries. */
import type { LedgerLine } from '../../../../../src/modules/console/data-shapes.js';
import type { OrderHistory } from '../../api/order-history.js';
import { grouped, rateText, trx } from '../../format/money.js';
import { sentenceText } from '../../format/sentence.js';
import { span } from '../../format/time.js';
import { Amount, Moment } from '../../parts/figures.js';
import { Facts, Lines, type Column } from '../../parts/lines.js';
import { Section } from '../../parts/page.js';
import { Status } from '../../parts/status.js';
import { ORDER } from '../../text/orders.js';

const text = ORDER.money;
const COLUMNS: readonly Column<LedgerLine>[] = [
  { title: text.columns.what, cell: ({ description }) => sentenceText(description) },
  { title: text.columns.amount, cell: ({ amount }) => <Amount credits={amount.credits} isSigned />, isFigure: true },
  { title: text.columns.when, cell: ({ created_at: at }) => <Moment at={at} /> },
];

interface MoneyProps {
  readonly money: OrderHistory['money'];
}

export function MoneySection({ money }: MoneyProps) {
  return (
    <Section title={ORDER.sections.money}>
      <Facts
        of={[
          [text.quoted, money.quoted && <Amount credits={money.quoted.credits} />],
          [text.charged, <Amount key="charged" credits={money.charged.credits} />],
          ...(money.items ?? []).map(
            ({ kind, charged, price_sun: price }) =>
              [
                text.items[kind],
                <span key={kind}>
                  <Amount credits={charged.credits} />, {trx(price)}
                </span>,
              ] as const,
          ),
          [text.rate, text.rateText(trx(money.price_sun), rateText(money.trx_usd))],
          [text.burning, burning(money)],
          [text.used, money.measured && text.usedText(grouped(money.measured.used_energy), money.measured.calls)],
          [text.savedTitle, saved(money.measured)],
          ...money.extensions.map(
            ({ key, duration_sec: seconds, charged, at }) =>
              [
                text.extended,
                <span key={key}>
                  {span(seconds)}, <Amount credits={charged.credits} />, <Moment at={at} />
                </span>,
              ] as const,
          ),
          [text.refunded, money.refunded && <Amount credits={money.refunded.credits} isSigned />],
          [text.kept, money.kept && <Amount credits={money.kept.credits} />],
          [text.compensated, money.compensated && <Amount credits={money.compensated.credits} isSigned />],
        ]}
      />
      {money.entries.length > 0 && (
        <Lines caption={text.entries} columns={COLUMNS} items={money.entries} keyOf={({ id }) => id} />
      )}
    </Section>
  );
}

function burning({ burning_sun: sun, burning_as_of: asOf }: OrderHistory['money']) {
  if (sun === undefined) return undefined;
  return (
    <>
      {trx(sun)} <span className="dim">{asOf === 'now' ? text.burningNow : text.burningThen}</span>
    </>
  );
}

/** Nothing is claimed before the energy used is worth more than the price. */
function saved(measured: OrderHistory['money']['measured']) {
  if (measured === undefined) return undefined;
  if (measured.saved_sun <= 0) return text.savedNone;
  return <Status tone="good" icon="good" word={text.saved(trx(measured.saved_sun))} />;
}
