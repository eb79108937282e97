/** The go-live checklist: a page with every step, and a card that is shown until all are done. */
import { useQueries } from '@tanstack/react-query';
import { Link } from 'wouter';
import type { GoLive, GoLiveStep } from '../../../../../src/modules/console/integration-shapes.js';
import { get } from '../../api/client.js';
import { useProjectData } from '../../api/project-data.js';
import { useSignedIn } from '../../api/session.js';
import { Moment } from '../../parts/figures.js';
import { Loaded } from '../../parts/loaded.js';
import { Page, Section } from '../../parts/page.js';
import { Status } from '../../parts/status.js';
import { pathOf, useProject } from '../../shell/project.js';
import { SettingsNav } from '../../shell/subnav.js';
import { COMMON } from '../../text/common.js';
import { GO_LIVE } from '../../text/go-live.js';
import { NAV } from '../../text/nav.js';

const text = GO_LIVE;
const PATH = '/go-live';
/** A person is in few test projects; the first ones suffice. */
const TESTS_READ = 3;

const DONE_AT: Readonly<Record<GoLiveStep['step'], string>> = {
  key_used: '/integration/keys',
  requests_limited: '/settings/sources',
  webhook_accepts: '/integration/webhooks',
  can_pay: '/billing/top-up',
  low_balance: '/settings/project',
  daily_cap: '/settings/project',
  people: '/team',
  order_delivered: '/orders',
};

export function GoLivePage() {
  const { service } = useSignedIn();
  const steps = useProjectData<GoLive>(PATH);
  return (
    <Page title={NAV.goLive} lead={text.lead} above={<SettingsNav />}>
      <Loaded query={steps} lines={8}>
        {(data) => (
          <Section title={text.list} note={data.is_test ? text.ofTest : undefined}>
            <p>
              {isAllDone(data) ? (
                <Status tone="good" icon="good" word={text.allDone} />
              ) : (
                text.count(doneOf(data), data.steps.length)
              )}{' '}
              <span className="dim">
                {COMMON.checked} <Moment at={data.checked_at} />
              </span>
            </p>
            <ol className="first-steps">
              {data.steps.map(({ step, is_done: isDone }) => (
                <Step key={step} isDone={isDone} {...text.steps[step]} path={DONE_AT[step]} />
              ))}
              {!data.is_test && <Rehearsal />}
            </ol>
            {service?.api_url !== undefined && (
              <p className="dim">
                {text.more}{' '}
                <a href={`${service.api_url}/docs/going-live`} rel="noreferrer" target="_blank">
                  {text.guide}
                </a>
                .
              </p>
            )}
          </Section>
        )}
      </Loaded>
    </Page>
  );
}

/** On the home page of a live project, until every step is done. */
export function GoLiveCard() {
  const { id } = useProject();
  const { data } = useProjectData<GoLive>(PATH);
  if (data === undefined || data.is_test || isAllDone(data)) return null;
  return (
    <Section title={NAV.goLive}>
      <p>
        {text.count(doneOf(data), data.steps.length)}{' '}
        <Link href={pathOf(id, PATH)} className="crumb">
          {text.see}
        </Link>
      </p>
    </Section>
  );
}

const doneOf = ({ steps }: GoLive): number => steps.filter((step) => step.is_done).length;
const isAllDone = (steps: GoLive): boolean => doneOf(steps) === steps.steps.length;

interface StepProps {
  readonly isDone: boolean;
  readonly words: string;
  readonly how: string;
  readonly path: string;
}

function Step({ isDone, words, how, path }: StepProps) {
  const { id } = useProject();
  return (
    <li>
      <Status tone={isDone ? 'good' : 'calm'} icon={isDone ? 'good' : 'wait'} word={isDone ? text.done : text.open} />
      <div>
        <Link href={pathOf(id, path)}>{words}</Link>
        {!isDone && <p className="dim">{how}</p>}
      </div>
    </li>
  );
}

/** Read from the test projects of the signed-in person: a live project has no record of them. */
function Rehearsal() {
  const { projects } = useSignedIn();
  const tests = (projects ?? []).filter(({ test }) => test === true).slice(0, TESTS_READ);
  const read = useQueries({
    queries: tests.map(({ id }) => ({
      queryKey: ['project', id, PATH],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        get<GoLive>(`/api/projects/${id}${PATH}`, {}, { signal, isBackground: true }),
    })),
  });
  const { rehearsed } = text;
  const [first] = tests;
  // An operator is in no project. Nothing is claimed before all are read.
  if (projects === undefined || read.some(({ data }) => data === undefined)) return null;
  const isDone = read.some(({ data }) => data?.steps.find(({ step }) => step === 'order_delivered')?.is_done === true);
  return (
    <li>
      <Status
        tone={isDone ? 'good' : 'calm'}
        icon={isDone ? 'good' : 'info'}
        word={isDone ? text.done : text.optional}
      />
      <div>
        {first === undefined ? <span>{rehearsed.words}</span> : <Link href={pathOf(first.id)}>{rehearsed.words}</Link>}
        {!isDone && <p className="dim">{first === undefined ? rehearsed.none : rehearsed.how}</p>}
      </div>
    </li>
  );
}
