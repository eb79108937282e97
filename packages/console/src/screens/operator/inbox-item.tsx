/** One inbox item, with the command that resolves it. */
import { Link } from 'wouter';
import type { InboxItem } from '../../../../../src/modules/console/operator-shapes.js';
import { Command } from '../../parts/command.js';
import { Moment } from '../../parts/figures.js';
import { Notice, type Tone } from '../../parts/notice.js';
import { pathOf } from '../../shell/project.js';
import { OPERATOR_HOME } from '../../text/home.js';

const TONES: Readonly<Record<InboxItem['severity'], Tone>> = { fault: 'bad', warning: 'warn', notice: 'info' };
const text = OPERATOR_HOME;

export const inboxKey = ({ says, subject }: InboxItem): string => `${says} ${subject?.id ?? ''}`;

export function InboxNotice({ item: { severity, says, command, since, subject } }: { readonly item: InboxItem }) {
  return (
    <Notice tone={TONES[severity]} title={`${text.severity[severity]}: ${says}`}>
      {since !== undefined && (
        <p className="dim">
          <Moment at={since} />
        </p>
      )}
      {subject?.kind === 'project' && (
        <p>
          <Link href={pathOf(subject.id, '/orders')}>{text.toProject}</Link>
        </p>
      )}
      {subject?.kind === 'deposit' && (
        <p>
          <Link href="/deposits?status=held">{text.decideDeposit}</Link>
        </p>
      )}
      {subject?.kind === 'approval' && (
        <p>
          <Link href="/inbox/approvals">{text.decide}</Link>
        </p>
      )}
      {command !== undefined && <Command name={text.cure} text={command} />}
    </Notice>
  );
}
