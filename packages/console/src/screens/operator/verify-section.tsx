/** Agreement of records and chain, active sale stops, and explained findings. */
import type { SystemShape } from '../../../../../src/modules/console/system-shapes.js';
import { Command } from '../../parts/command.js';
import { Moment } from '../../parts/figures.js';
import { Facts, Lines, type Column } from '../../parts/lines.js';
import { Notice } from '../../parts/notice.js';
import { Section } from '../../parts/page.js';
import { Status } from '../../parts/status.js';
import { SYSTEM } from '../../text/system.js';

type Verify = SystemShape['verify'];
type Disagreement = NonNullable<Verify['stop']>['findings'][number];
type Explained = Verify['explained'][number];

const text = SYSTEM.verify;
const findingTitles = text.findingColumns;
const FINDINGS: readonly Column<Disagreement>[] = [
  { title: findingTitles.check, cell: ({ check }) => <code>{check}</code> },
  { title: findingTitles.subject, cell: ({ subject }) => subject },
  { title: findingTitles.fingerprint, cell: ({ fingerprint }) => <code>{fingerprint}</code> },
];

const titles = text.explainedColumns;
const EXPLAINED: readonly Column<Explained>[] = [
  { title: titles.check, cell: ({ check }) => <code>{check}</code> },
  { title: titles.subject, cell: ({ subject }) => subject },
  { title: titles.by, cell: ({ by }) => by },
  { title: titles.reason, cell: ({ reason }) => reason },
  { title: titles.at, cell: ({ at }) => <Moment at={at} /> },
];

export function VerifySection({ verify }: { readonly verify: Verify }) {
  const { stop, explained, passed_at: passed, searched_at: searched } = verify;
  return (
    <Section title={SYSTEM.sections.verify} note={text.note}>
      {stop === undefined ? (
        <p>
          <Status tone="good" icon="good" word={text.selling} />
        </p>
      ) : (
        <Notice tone="bad" title={text.stopped}>
          <p>{stop.reason}</p>
          <p className="dim">
            {text.since} <Moment at={stop.since} />
          </p>
        </Notice>
      )}
      {stop !== undefined && stop.findings.length > 0 && (
        <Lines
          caption={text.findings}
          columns={FINDINGS}
          items={stop.findings}
          keyOf={({ fingerprint, subject }) => `${fingerprint} ${subject}`}
        />
      )}
      <Facts
        of={[
          [text.passed, passed === undefined ? text.never : <Moment at={passed} />],
          [text.searched, searched === undefined ? text.never : <Moment at={searched} />],
        ]}
      />
      <h3>{text.explained}</h3>
      {explained.length === 0 ? (
        <p>{text.explainedNone}</p>
      ) : (
        <Lines
          caption={text.explained}
          columns={EXPLAINED}
          items={explained}
          keyOf={({ fingerprint }) => fingerprint}
        />
      )}
      <Command name={text.run} text={text.command} />
    </Section>
  );
}
