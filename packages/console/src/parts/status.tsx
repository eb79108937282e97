/** A status as a word and an icon; colour only supports them. */
import type { DepositStatusName, OrderLine } from '../../../../src/modules/console/data-shapes.js';
import { COMMON } from '../text/common.js';
import { STATUS } from '../text/status.js';
import { Moment } from './figures.js';
import { Icon, type IconName } from './icons.js';

type StatusTone = 'good' | 'wait' | 'warn' | 'bad' | 'calm';

interface StatusProps {
  readonly tone: StatusTone;
  readonly icon: IconName;
  readonly word: string;
}

export function Status({ tone, icon, word }: StatusProps) {
  return (
    <span className={`status status-${tone}`}>
      <Icon name={icon} />
      {word}
    </span>
  );
}

/** States that nothing needs action, and when that was read. */
export function AllClear({ word, at }: { readonly word: string; readonly at: string }) {
  return (
    <p>
      <Status tone="good" icon="good" word={word} />{' '}
      <span className="dim">
        {COMMON.checked} <Moment at={at} />
      </span>
    </p>
  );
}

export function OrderStatus({ order }: { readonly order: Pick<OrderLine, 'status' | 'reclaimed_at' | 'kind'> }) {
  const words = STATUS.order;
  switch (order.status) {
    case 'reserved':
      return <Status tone="wait" icon="wait" word={words.reserved} />;
    case 'placed':
      return <Status tone="wait" icon="wait" word={words.placed} />;
    case 'unresolved':
      return <Status tone="warn" icon="unknown" word={words.unresolved} />;
    case 'refunded':
      return <Status tone="calm" icon="returned" word={words.refunded} />;
    case 'delivered':
      if (order.reclaimed_at !== undefined) return <Status tone="calm" icon="good" word={words.ended} />;
      return <Status tone="good" icon="good" word={words.delivered} />;
  }
}

const OF_DEPOSIT: Readonly<Record<DepositStatusName, readonly [StatusTone, IconName]>> = {
  pending: ['wait', 'wait'],
  credited: ['good', 'good'],
  held: ['warn', 'warn'],
  ignored: ['calm', 'info'],
  dropped: ['bad', 'bad'],
};

export function DepositStatus({ status }: { readonly status: DepositStatusName }) {
  const [tone, icon] = OF_DEPOSIT[status];
  return <Status tone={tone} icon={icon} word={STATUS.deposit[status]} />;
}
