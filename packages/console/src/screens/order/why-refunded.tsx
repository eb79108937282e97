/** Explains a refund: reason, known facts, and the next step. */
import type { RefundReason } from '../../../../../src/modules/console/data-shapes.js';
import { sentenceText } from '../../format/sentence.js';
import { Amount, Moment } from '../../parts/figures.js';
import { Icon } from '../../parts/icons.js';
import { Section } from '../../parts/page.js';
import { ORDER } from '../../text/orders.js';

export function WhyRefunded({ reason }: { readonly reason: RefundReason }) {
  const text = ORDER.why;
  return (
    <Section title={ORDER.sections.why} id="why">
      <p className="why-summary">{reason.summary}</p>
      {reason.refunded !== undefined && (
        <p className="why-back">
          <Icon name="returned" />
          <span>
            {text.back}: <Amount credits={reason.refunded.credits} />
            {reason.refunded_at !== undefined && (
              <>
                , <Moment at={reason.refunded_at} />
              </>
            )}
          </span>
        </p>
      )}
      <h3>{text.known}</h3>
      <ol className="evidence">
        {reason.evidence.map(({ at, chain_at: chainAt, says }) => (
          <li key={`${at ?? ''} ${chainAt ?? ''} ${says}`}>
            <p>{sentenceText(says)}</p>
            <p className="dim">
              {at !== undefined && <Moment at={at} clock="ours" />}{' '}
              {chainAt !== undefined && <Moment at={chainAt} clock="chain" />}
            </p>
          </li>
        ))}
      </ol>
      <h3>{text.todo}</h3>
      <p>{reason.advice}</p>
      <p className="dim">
        {text.code} <code>{reason.error_code}</code>
      </p>
    </Section>
  );
}
