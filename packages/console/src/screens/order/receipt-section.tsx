/** A receipt for the merchant's records: delivery, savings, and on-chain verification. Can be copied or printed. */
import { Button } from '@mantine/core';
import type { OrderHistory } from '../../api/order-history.js';
import { grouped, trx } from '../../format/money.js';
import { span, utcMoment } from '../../format/time.js';
import { CopyButton } from '../../parts/copy.js';
import { Groups } from '../../parts/figures.js';
import { Facts } from '../../parts/lines.js';
import { Section } from '../../parts/page.js';
import { ORDER } from '../../text/orders.js';

const text = ORDER.receipt;

export function ReceiptSection({ history }: { readonly history: OrderHistory }) {
  const { order, proof } = history;
  const delivered = proof.filter(({ purpose }) => purpose !== 'reclaim');
  const saved = savedText(history);
  const whole = receiptText(history, delivered, saved);
  return (
    <Section
      id="receipt"
      isSecondary
      title={text.title}
      note={text.note}
      actions={
        <div className="receipt-acts">
          <CopyButton text={whole} name={text.title} label={text.copy} />
          <Button variant="default" onClick={() => print()}>
            {text.print}
          </Button>
        </div>
      }
    >
      <article className="receipt" data-print>
        <h3>{text.heading}</h3>
        {saved !== undefined && <p className="receipt-saved">{saved}</p>}
        <Facts
          of={[
            [
              text.order,
              <span key="order" className="mono">
                {order.key}
              </span>,
            ],
            [text.what, whatOf(history)],
            [text.receiver, <Groups key="to" text={order.receive_address} name={text.receiver} withoutCopy />],
            ...delivered.map(
              (one) =>
                [
                  ORDER.proof.txid,
                  <div key={one.txid}>
                    <Groups text={one.txid} name={ORDER.proof.txid} size={8} withoutCopy />
                    <p className="dim">{blockOf(one)}</p>
                  </div>,
                ] as const,
            ),
          ]}
        />
        <h4 className="small-head">{text.how}</h4>
        <p>{text.howNode}</p>
        {delivered.map(({ txid, check }) => (
          <pre key={txid} className="code-block" tabIndex={0}>
            {check}
          </pre>
        ))}
        {delivered.some(({ explorer_url: url }) => url !== undefined) && <p>{text.howExplorer}</p>}
        {delivered.map(
          ({ txid, explorer_url: url }) =>
            url !== undefined && (
              <p key={txid} className="mono">
                {url}
              </p>
            ),
        )}
        <p className="dim">{text.howMeans}</p>
      </article>
    </Section>
  );
}

type Proof = OrderHistory['proof'][number];

/** Undefined until the energy that was used would have cost more to burn than the order did. */
function savedText({ money: { measured } }: OrderHistory): string | undefined {
  if (measured?.last_block === undefined || measured.saved_sun <= 0) return undefined;
  return text.saved(trx(measured.saved_sun), grouped(measured.used_energy), grouped(measured.last_block));
}

function whatOf({ order: { energy, bandwidth, activates, duration_sec: seconds } }: OrderHistory): string {
  if (energy === undefined) return text.activated;
  const time = span(seconds ?? 0);
  const rental =
    bandwidth === undefined
      ? text.energyFor(grouped(energy), time)
      : text.bandwidthFor(grouped(energy), grouped(bandwidth), time);
  return activates === true ? text.withActivation(rental) : rental;
}

function blockOf({ block_number: block, block_timestamp: at }: Proof): string {
  return block === undefined ? '' : text.inBlock(grouped(block), at === undefined ? '–' : utcMoment(new Date(at)));
}

function receiptText(history: OrderHistory, delivered: readonly Proof[], saved: string | undefined): string {
  const { order } = history;
  return [
    text.heading,
    ...(saved === undefined ? [] : [saved]),
    `${text.order}: ${order.key}`,
    `${text.what}: ${whatOf(history)}`,
    `${text.receiver}: ${order.receive_address}`,
    ...delivered.map((one) => `${ORDER.proof.txid}: ${one.txid} ${blockOf(one)}`),
    '',
    `${text.how}: ${text.howNode}`,
    ...delivered.map(({ check }) => check),
    ...delivered.flatMap(({ explorer_url: url }) => (url === undefined ? [] : [`${text.howExplorer} ${url}`])),
    text.howMeans,
  ].join('\n');
}
