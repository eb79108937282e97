/** State of the service as the database records it: nodes, workers, doctor and verify. */
import type { ReactNode } from 'react';
import type {
  NodeUse,
  SystemFinding,
  SystemShape,
  WorkLine,
} from '../../../../../src/modules/console/system-shapes.js';
import { useReadEvery } from '../../api/project-data.js';
import { grouped } from '../../format/money.js';
import { span } from '../../format/time.js';
import { Command } from '../../parts/command.js';
import { Moment } from '../../parts/figures.js';
import { Facts, Lines, type Column } from '../../parts/lines.js';
import { Loaded } from '../../parts/loaded.js';
import { Page, Section } from '../../parts/page.js';
import { Status } from '../../parts/status.js';
import { SystemNav } from '../../shell/subnav.js';
import { NAV } from '../../text/nav.js';
import { SYSTEM } from '../../text/system.js';
import { VerifySection } from './verify-section.js';

const EVERY_MS = 15_000;
const COUNTED_MAX = 1000;
const text = SYSTEM;

export function SystemPage() {
  const system = useReadEvery<SystemShape>(['system'], '/api/operator/system', EVERY_MS);
  return (
    <Page title={NAV.system} lead={text.lead} above={<SystemNav />}>
      <Loaded query={system} lines={10}>
        {(data) => (
          <>
            <p className="dim page-note">
              {text.checked} <Moment at={data.checked_at} />
            </p>
            <Nodes system={data} />
            <Section title={text.sections.workers} note={text.work.note}>
              <Lines caption={text.work.caption} columns={WORK} items={data.work} keyOf={({ what }) => what} />
            </Section>
            <Section title={text.sections.doctor} note={text.doctor.note}>
              <Lines
                caption={text.doctor.caption}
                columns={FINDINGS}
                items={data.findings}
                keyOf={({ check, says }) => `${check} ${says}`}
              />
              <Command name={text.doctor.run} text={text.doctor.command} />
            </Section>
            <VerifySection verify={data.verify} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

const nodeTitles = text.nodes.columns;
const NODES: readonly Column<NodeUse>[] = [
  { title: nodeTitles.node, cell: ({ node }) => <code>{node}</code> },
  { title: nodeTitles.sends, cell: ({ sends }) => grouped(sends), isFigure: true },
  { title: nodeTitles.taken, cell: ({ taken }) => grouped(taken), isFigure: true },
  { title: nodeTitles.last, cell: ({ last_at: at }) => <Moment at={at} /> },
  {
    title: nodeTitles.refusal,
    cell: ({ last_refusal: refusal }) =>
      refusal === undefined ? (
        '–'
      ) : (
        <>
          <code>{refusal.answer}</code>
          <p className="dim">
            <Moment at={refusal.at} />
          </p>
        </>
      ),
  },
];

function Nodes({ system: { nodes, chain, sends_counted: sends } }: { readonly system: SystemShape }) {
  const words = text.nodes;
  const moment = (at: string | undefined, without: string) => (at === undefined ? without : <Moment at={at} />);
  return (
    <Section title={text.sections.nodes} {...(nodes.length > 0 && { note: words.note(grouped(sends)) })}>
      {nodes.length === 0 ? (
        <p>{words.none}</p>
      ) : (
        <Lines caption={words.caption} columns={NODES} items={nodes} keyOf={({ node }) => node} />
      )}
      <Facts
        of={[
          [words.block, chain.block_number === undefined ? undefined : grouped(chain.block_number)],
          [words.readAt, chain.block_number === undefined ? undefined : moment(chain.blocks_read_at, words.never)],
          [words.figures, moment(chain.figures_read_at, words.never)],
          [words.rate, moment(chain.rate_read_at, words.rateFixed)],
          [words.unsearched, chain.unsearched_blocks === 0 ? undefined : grouped(chain.unsearched_blocks)],
        ]}
      />
    </Section>
  );
}

const workTitles = text.work.columns;
const WORK: readonly Column<WorkLine>[] = [
  { title: workTitles.what, cell: ({ what }) => text.work.names[what] },
  {
    title: workTitles.waiting,
    cell: ({ waiting }) => {
      if (waiting === undefined) return '–';
      return waiting >= COUNTED_MAX ? text.work.many : grouped(waiting);
    },
    isFigure: true,
  },
  { title: workTitles.age, cell: ({ age_sec: age }) => (age === undefined ? '–' : span(age)), isFigure: true },
  {
    title: workTitles.state,
    cell: ({ late, waiting, age_sec: age }) => {
      if (late) {
        return (
          <>
            <Status tone="bad" icon="bad" word={text.work.late} />
            <p className="dim">{text.work.lateTodo}</p>
          </>
        );
      }
      if (waiting === undefined && age === undefined)
        return <Status tone="calm" icon="info" word={text.work.notInUse} />;
      return <Status tone="good" icon="good" word={text.work.onTime} />;
    },
  },
];

/** Renders text between backticks as commands. */
const withCommands = (words: string): ReactNode[] =>
  words.split('`').map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part));

const TONES = { ok: ['good', 'good'], warning: ['warn', 'warn'], fault: ['bad', 'bad'] } as const;
const findingTitles = text.doctor.columns;
const FINDINGS: readonly Column<SystemFinding>[] = [
  { title: findingTitles.check, cell: ({ check }) => <strong>{check}</strong> },
  {
    title: findingTitles.state,
    cell: ({ state }) => {
      const [tone, icon] = TONES[state];
      return <Status tone={tone} icon={icon} word={text.doctor.states[state]} />;
    },
  },
  {
    title: findingTitles.says,
    cell: ({ says, todo }) => (
      <>
        {says}
        {todo !== undefined && <p className="dim">{withCommands(todo)}</p>}
      </>
    ),
  },
];
