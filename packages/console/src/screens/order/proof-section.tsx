/** The order's on-chain evidence, and commands to verify it at a node of the reader's choice. */
import type { EnergyReading, OrderProof } from '../../../../../src/modules/console/data-shapes.js';
import type { OrderHistory } from '../../api/order-history.js';
import { grouped, trx } from '../../format/money.js';
import { CopyButton } from '../../parts/copy.js';
import { Groups, Moment } from '../../parts/figures.js';
import { Facts } from '../../parts/lines.js';
import { Section } from '../../parts/page.js';
import { Status } from '../../parts/status.js';
import { ORDER } from '../../text/orders.js';

interface ProofProps {
  readonly proof: readonly OrderProof[];
  readonly energy: OrderHistory['receiver_energy'];
  readonly isRefunded: boolean;
}

export function ProofSection({ proof, energy, isRefunded }: ProofProps) {
  const text = ORDER.proof;
  return (
    <Section isSecondary title={ORDER.sections.proof} note={ORDER.sections.proofNote}>
      {proof.length === 0 && <p>{isRefunded ? text.noneRefunded : text.none}</p>}
      {proof.map((one) => (
        <Proof key={one.txid} proof={one} />
      ))}
      {energy !== undefined && <ReceiverEnergy energy={energy} />}
    </Section>
  );
}

/** Shows the receiver's energy as one node reported it. Unlike the rest of the proof, the chain does not record it. */
function ReceiverEnergy({ energy: { before, after } }: { readonly energy: NonNullable<ProofProps['energy']> }) {
  const text = ORDER.proof.usable;
  const shown = (reading: EnergyReading | undefined) =>
    reading === undefined ? (
      <span className="dim">{text.notRead}</span>
    ) : (
      <>
        {grouped(reading.energy)} {text.energy}{' '}
        <span className="dim">{text.atBlock(grouped(reading.block_number))}</span>
      </>
    );
  return (
    <article className="proof">
      <h3>{text.title}</h3>
      <Facts
        of={[
          [text.before, shown(before)],
          [text.after, shown(after)],
        ]}
      />
      <p className="dim">{text.means}</p>
    </article>
  );
}

function purposeOf({ purpose, resource }: OrderProof): string {
  const { purposes, bandwidthPurposes } = ORDER.proof;
  return resource === 'BANDWIDTH' && purpose !== 'activate' ? bandwidthPurposes[purpose] : purposes[purpose];
}

function Proof({ proof }: { readonly proof: OrderProof }) {
  const text = ORDER.proof;
  const { block_number: block, block_timestamp: at, block_id: blockId, energy, bandwidth, amount_sun: stake } = proof;
  return (
    <article className="proof">
      <h3>{purposeOf(proof)}</h3>
      <Facts
        of={[
          [text.txid, <Groups key="txid" text={proof.txid} name={text.txid} size={8} />],
          [
            text.block,
            block === undefined ? <Status key="block" tone="wait" icon="wait" word={text.blockOpen} /> : grouped(block),
          ],
          [text.blockTime, at && <Moment at={at} clock="chain" />],
          [text.blockId, blockId && <Groups text={blockId} name={text.blockId} size={8} />],
          [text.owner, <Groups key="owner" text={proof.owner_address} name={text.owner} />],
          [text.receiver, <Groups key="receiver" text={proof.receive_address} name={text.receiver} />],
          [text.energy, energy === undefined ? undefined : grouped(energy)],
          [text.bandwidth, bandwidth === undefined ? undefined : grouped(bandwidth)],
          [text.amount, stake === undefined ? undefined : trx(stake)],
        ]}
      />
      {proof.explorer_url !== undefined && (
        <p className="link-list">
          <a href={proof.explorer_url} target="_blank" rel="noreferrer noopener">
            {text.explorer}
          </a>
        </p>
      )}
      <h4 className="small-head">{text.check}</h4>
      <pre className="code-block" tabIndex={0}>
        {proof.check}
      </pre>
      <CopyButton text={proof.check} name={text.check} label={text.checkCopy} />
    </article>
  );
}
