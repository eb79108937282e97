/** Live progress of a project's first rental, block by block until it is final, with what it will save. */
import { useEffect, useRef } from 'react';
import { Link } from 'wouter';
import type { OrderHistory } from '../../api/order-history.js';
import { useProjectData } from '../../api/project-data.js';
import { grouped, trx } from '../../format/money.js';
import { announce } from '../../parts/live.js';
import { Loaded } from '../../parts/loaded.js';
import { Section } from '../../parts/page.js';
import { Status } from '../../parts/status.js';
import { orderPath, useProject } from '../../shell/project.js';
import { HOME } from '../../text/home.js';

const text = HOME.first;
const EVERY_MS = 1500;
/** A TRON block is final once more than two thirds of the 27 block producers have built on it. */
const BLOCKS = 19;

const everyMs = (data: OrderHistory | undefined): number | false => data?.order.settled !== true && EVERY_MS;

export function FirstDelivery({ orderKey }: { readonly orderKey: string }) {
  const path = `/orders/${encodeURIComponent(orderKey)}`;
  const order = useProjectData<OrderHistory>(path, { everyMs });
  return (
    <Section title={text.title} note={text.note}>
      <Loaded query={order} lines={5}>
        {(data) => <Steps history={data} />}
      </Loaded>
    </Section>
  );
}

/** Number of completed steps. */
function stepOf({ order, timeline, blocks_to_final: left }: OrderHistory): number {
  if (order.settled && order.status === 'delivered') return 4;
  if (order.status === 'delivered' || left !== undefined) return 3;
  return timeline.some(({ txid }) => txid !== undefined) ? 2 : 1;
}

function Steps({ history }: { readonly history: OrderHistory }) {
  const { id } = useProject();
  const done = stepOf(history);
  useSaid(done);
  const block = history.proof.find(({ purpose }) => purpose === 'delegate')?.block_number;
  const estimate = estimateSun(history);
  return (
    <>
      <ol className="first-steps">
        {text.steps.map((words, index) => (
          <li key={words}>
            <Status
              tone={index < done ? 'good' : 'calm'}
              icon={index < done ? 'good' : 'wait'}
              word={index < done ? HOME.steps.done : text.waiting}
            />
            <span>
              {words}
              {index === 2 && block !== undefined && <span className="dim"> {text.inBlock(grouped(block))}</span>}
            </span>
          </li>
        ))}
      </ol>
      {done === 3 && <Blocks left={history.blocks_to_final} />}
      {done === 4 && (
        <>
          {estimate > 0n && <p className="receipt-saved">{text.estimate(trx(estimate))}</p>}
          <p>
            <Link href={`${orderPath(id, history.order.key)}#receipt`}>{text.receipt}</Link>
          </p>
        </>
      )}
    </>
  );
}

/** The rental's saving once all of its energy is used. */
function estimateSun({ money }: OrderHistory): bigint {
  return money.burning_sun === undefined ? 0n : BigInt(money.burning_sun) - BigInt(money.energy_sun ?? money.price_sun);
}

/** One cell for each block until finality. */
function Blocks({ left }: { readonly left: number | undefined }) {
  if (left === undefined) return null;
  const whole = Math.max(BLOCKS, left);
  return (
    <>
      <div className="blocks" aria-hidden="true">
        {Array.from({ length: whole }, (_, index) => (
          <span key={index} className={index < whole - left ? 'block block-there' : 'block'} />
        ))}
      </div>
      <p className="dim">{text.blocksLeft(left)}</p>
    </>
  );
}

/** Announces each step when it completes; steps completed before the page opened are skipped. */
function useSaid(done: number) {
  const said = useRef(done);
  useEffect(() => {
    const words = text.steps[done - 1];
    if (done > said.current && words !== undefined) announce(text.said(words));
    said.current = done;
  }, [done]);
}
