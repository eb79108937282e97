/** Details of an order for the operator only: legs, attempts with evidence, and sends. */
import type { OperatorOrder } from '../../../../../src/modules/console/data-shapes.js';
import { grouped, trx } from '../../format/money.js';
import { sentenceText } from '../../format/sentence.js';
import { Groups, Moment } from '../../parts/figures.js';
import { Lines, type Column } from '../../parts/lines.js';
import { Section } from '../../parts/page.js';
import { Status } from '../../parts/status.js';
import { ORDER, ORDERS } from '../../text/orders.js';

const text = ORDER.operator;
const titles = text.columns;

const LEGS: readonly Column<OperatorOrder['legs'][number]>[] = [
  { title: titles.leg, cell: ({ leg_no: leg }) => leg.toString() },
  { title: titles.wallet, cell: ({ wallet }) => <Groups text={wallet} name={titles.wallet} /> },
  { title: titles.part, cell: ({ part }) => text.parts[part] },
  {
    title: titles.delivers,
    cell: ({ energy, bandwidth }) => {
      const amount = energy ?? bandwidth;
      return amount === undefined ? '–' : grouped(amount);
    },
    isFigure: true,
  },
  { title: titles.stake, cell: ({ amount_sun: stake }) => trx(stake), isFigure: true },
  {
    title: titles.status,
    cell: ({ status, closed_reason: reason }) => (reason === undefined ? status : `${status}: ${reason}`),
  },
];

const ATTEMPTS: readonly Column<OperatorOrder['attempts'][number]>[] = [
  { title: titles.purpose, cell: ({ purpose, attempt }) => `${purpose} ${attempt.toString()}` },
  { title: titles.status, cell: ({ status }) => status },
  { title: titles.txid, cell: ({ txid }) => <Groups text={txid} name={titles.txid} size={8} /> },
  { title: titles.sends, cell: ({ sends }) => grouped(sends), isFigure: true },
  {
    title: text.evidence,
    cell: ({ evidence }) => (evidence === undefined ? '–' : <code>{JSON.stringify(evidence)}</code>),
  },
];

const SENDS: readonly Column<OperatorOrder['broadcasts'][number]>[] = [
  { title: titles.at, cell: ({ at }) => <Moment at={at} clock="ours" /> },
  { title: titles.node, cell: ({ node }) => <code>{node}</code> },
  { title: titles.answer, cell: ({ answer, message }) => (message === undefined ? answer : `${answer}: ${message}`) },
];

export function OperatorSection({ operator }: { readonly operator: OperatorOrder }) {
  return (
    <Section isSecondary title={ORDER.sections.operator} note={operator.project.name}>
      <p>
        {operator.needs_attention && <Status tone="warn" icon="warn" word={ORDERS.attention} />}{' '}
        {sentenceText(operator.standing)}
      </p>
      <h3>{text.legs}</h3>
      <Lines caption={text.legs} columns={LEGS} items={operator.legs} keyOf={({ leg_no: leg }) => leg.toString()} />
      <h3>{text.attempts}</h3>
      <Lines caption={text.attempts} columns={ATTEMPTS} items={operator.attempts} keyOf={({ txid }) => txid} />
      <h3>{text.broadcasts}</h3>
      <Lines
        caption={text.broadcasts}
        columns={SENDS}
        items={operator.broadcasts}
        keyOf={({ at, node, txid }) => [at, node, txid].join(' ')}
      />
    </Section>
  );
}
