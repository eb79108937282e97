/** State, pause reason and next step of an auto-delegation, as the list and its page show them. */
import type { AutoDelegationShape } from '../../../../../src/modules/console/integration-shapes.js';
import { Moment } from '../../parts/figures.js';
import { Status } from '../../parts/status.js';
import { AUTO } from '../../text/auto-delegation.js';

/** True for a cap of zero: an owner stopped it, regardless of the last refusal. */
export const isStopped = ({ status, daily_cap: cap }: AutoDelegationShape): boolean =>
  cap.credits === 0 && status !== 'ended';

export function AutoStatus({ of }: { readonly of: AutoDelegationShape }) {
  const words = AUTO.states;
  if (isStopped(of)) return <Status tone="calm" icon="wait" word={words.stopped} />;
  switch (of.status) {
    case 'active':
      return <Status tone="good" icon="good" word={words.active} />;
    case 'asleep':
      return <Status tone="calm" icon="sleep" word={words.asleep} />;
    case 'paused':
      return <Status tone="warn" icon="warn" word={words.paused} />;
    case 'ended':
      return <Status tone="calm" icon="info" word={words.ended} />;
  }
}

/** Returns the reason for a pause. Undefined if it is not paused, or if an owner stopped it. */
export function reasonOf(auto: AutoDelegationShape): string | undefined {
  if (auto.pause === undefined || auto.status !== 'paused' || isStopped(auto)) return undefined;
  const { reason } = auto.pause;
  return AUTO.why.reasons[reason] ?? AUTO.why.other(reason);
}

export function AutoNext({ of }: { readonly of: AutoDelegationShape }) {
  const words = AUTO.next;
  if (isStopped(of)) return words.stopped;
  if (of.next === undefined) return words.ended;
  if (of.status === 'asleep') return words.asleep;
  const { what, at } = of.next;
  return (
    <>
      {words[what]}
      {at !== undefined && (
        <p>
          <Moment at={at} clock={what === 'rental_ends' ? 'chain' : 'ours'} />
        </p>
      )}
    </>
  );
}
