/** Credit bookings and decisions on held deposits that need a second admin, and decided ones. */
import { Button, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import type {
  BookedCredits,
  CreditRequestLine,
  CreditRequestList,
} from '../../../../../src/modules/console/operator-shapes.js';
import { useAct } from '../../api/act.js';
import { post } from '../../api/client.js';
import { useReadEvery } from '../../api/project-data.js';
import { useSignedIn } from '../../api/session.js';
import { usd } from '../../format/money.js';
import { Dialog } from '../../parts/dialog.js';
import { Amount, Moment } from '../../parts/figures.js';
import { Form } from '../../parts/form.js';
import { Facts, Lines, type Column } from '../../parts/lines.js';
import { Loaded } from '../../parts/loaded.js';
import { Notice } from '../../parts/notice.js';
import { Page, Section } from '../../parts/page.js';
import { Status } from '../../parts/status.js';
import { pathOf } from '../../shell/project.js';
import { InboxNav } from '../../shell/subnav.js';
import { COMMON } from '../../text/common.js';
import { APPROVALS } from '../../text/credits.js';
import { NAV } from '../../text/nav.js';
import { Evidence } from './decide-deposit.js';

const text = APPROVALS;
const EVERY_MS = 15_000;
type Decision = 'approve' | 'reject';

/** The reference of such a request is the long key of the deposit. */
const isOfDeposit = (kind: CreditRequestLine['kind']): boolean => kind === 'deposit' || kind === 'refusal';

export function ApprovalsPage() {
  const requests = useReadEvery<CreditRequestList>(['credit-requests'], '/api/operator/credit-requests', EVERY_MS);
  const limit = requests.data?.limit.credits;
  const [deciding, setDeciding] = useState<{ readonly request: CreditRequestLine; readonly as: Decision }>();
  const [done, setDone] = useState<string>();
  return (
    <Page
      title={NAV.approvals}
      lead={limit === undefined ? text.leadUnknown : text.lead(usd(limit))}
      above={<InboxNav />}
    >
      <div role="status">{done !== undefined && <Notice tone="good">{done}</Notice>}</div>
      <Loaded query={requests} lines={6} isEmpty={({ items }) => items.length === 0} empty={<p>{text.empty}</p>}>
        {({ items }) => (
          <>
            <Waiting
              items={items.filter(({ status }) => status === 'pending')}
              onDecide={(request, as) => {
                setDone(undefined);
                setDeciding({ request, as });
              }}
            />
            <Decided items={items.filter(({ status }) => status !== 'pending')} />
          </>
        )}
      </Loaded>
      {deciding !== undefined && (
        <Decide
          {...deciding}
          onClose={() => setDeciding(undefined)}
          onDone={() => {
            setDeciding(undefined);
            setDone(doneText(deciding.request, deciding.as));
          }}
        />
      )}
    </Page>
  );
}

function doneText({ kind }: CreditRequestLine, as: Decision): string {
  if (as === 'reject') return text.rejected;
  return kind === 'refusal' ? text.refused : text.booked;
}

interface WaitingProps {
  readonly items: readonly CreditRequestLine[];
  readonly onDecide: (request: CreditRequestLine, as: Decision) => void;
}

function Waiting({ items, onDecide }: WaitingProps) {
  const { person, operator_role: role } = useSignedIn();
  return (
    <Section title={text.waiting}>
      {items.length === 0 && <p>{text.waitingNone}</p>}
      {items.map((request) => (
        <div key={request.id} className="stack">
          <Terms request={request} />
          {role !== 'admin' && <p className="dim">{text.reads}</p>}
          {role === 'admin' && request.asked_by.id === person.id && <p className="dim">{text.own}</p>}
          {role === 'admin' && request.asked_by.id !== person.id && (
            <div className="form-actions">
              <Button onClick={() => onDecide(request, 'approve')}>
                {text.approve}
                <span className="only-read"> {request.deposit?.id ?? request.reference}</span>
              </Button>
              <Button variant="default" onClick={() => onDecide(request, 'reject')}>
                {text.reject}
                <span className="only-read"> {request.deposit?.id ?? request.reference}</span>
              </Button>
            </div>
          )}
        </div>
      ))}
    </Section>
  );
}

/** Shows all facts for the decision. */
function Terms({ request }: { readonly request: CreditRequestLine }) {
  const { facts } = text;
  const { project, amount, balance, deposit, kind } = request;
  const after = BigInt(balance.credits) + (kind === 'refusal' ? 0n : BigInt(amount.credits));
  return (
    <>
      {deposit !== undefined && <Evidence deposit={deposit} />}
      <Facts
        of={[
          [facts.project, <ProjectLink key="project" project={project} />],
          [text.kinds[kind], <Amount key="amount" credits={amount.credits} isBalance isSigned={kind !== 'refusal'} />],
          [facts.balance, <Amount key="now" credits={balance.credits} isBalance />],
          [facts.after, <Amount key="after" credits={after} isBalance />],
          [facts.reference, deposit === undefined ? <span className="mono">{request.reference}</span> : undefined],
          [facts.reason, request.reason],
          [
            facts.asked,
            <>
              {text.byAt(request.asked_by.email)} <Moment at={request.asked_at} />
            </>,
          ],
        ]}
      />
    </>
  );
}

function ProjectLink({ project: { id, name } }: { readonly project: CreditRequestLine['project'] }) {
  return <Link href={pathOf(id, '/billing/ledger')}>{name}</Link>;
}

const titles = text.columns;
const COLUMNS: readonly Column<CreditRequestLine>[] = [
  {
    title: titles.state,
    cell: ({ status }) => (
      <Status
        tone={status === 'approved' ? 'good' : 'calm'}
        icon={status === 'approved' ? 'good' : 'bad'}
        word={text.states[status]}
      />
    ),
  },
  { title: titles.project, cell: ({ project }) => <ProjectLink project={project} /> },
  {
    title: titles.amount,
    cell: ({ amount, kind }) => (
      <>
        <Amount credits={amount.credits} isBalance isSigned={kind !== 'refusal'} />
        <p className="dim">{text.kinds[kind]}</p>
      </>
    ),
    isFigure: true,
  },
  {
    title: titles.why,
    cell: ({ reason, reference, kind, decision_reason: decision }) => (
      <>
        <p>{reason}</p>
        {!isOfDeposit(kind) && <p className="dim">{reference}</p>}
        {decision !== undefined && <p className="dim">{decision}</p>}
      </>
    ),
  },
  {
    title: titles.by,
    cell: ({ asked_by: asker, decided_by: decider, decided_at: at }) => (
      <>
        <p>{`${text.facts.asked} ${asker.email}`}</p>
        {decider !== undefined && <p>{`${text.facts.decided} ${decider}`}</p>}
        {at !== undefined && <Moment at={at} />}
      </>
    ),
  },
];

function Decided({ items }: { readonly items: readonly CreditRequestLine[] }) {
  if (items.length === 0) return null;
  return (
    <Section title={text.decided}>
      <Lines caption={text.decidedCaption} columns={COLUMNS} items={items} keyOf={({ id }) => id} />
    </Section>
  );
}

interface DecideProps {
  readonly request: CreditRequestLine;
  readonly as: Decision;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function Decide({ request, as, onClose, onDone }: DecideProps) {
  const cache = useQueryClient();
  const [reason, setReason] = useState('');
  const act = useAct(async () => {
    await post<BookedCredits>(`/api/operator/credit-requests/${request.id}/${as}`, { reason: reason.trim() });
    onDone();
    await cache.invalidateQueries();
  });
  const words = as === 'approve' && request.kind === 'refusal' ? text.dialog.approveRefusal : text.dialog[as];
  return (
    <Dialog title={words} onClose={onClose}>
      <p>{isOfDeposit(request.kind) ? text.dialog.leadDeposit : text.dialog.lead}</p>
      <Terms request={request} />
      <Form
        act={act}
        submit={words}
        isDangerous={as === 'reject'}
        isReady={reason.trim() !== ''}
        beside={
          <Button variant="default" onClick={onClose}>
            {COMMON.cancel}
          </Button>
        }
      >
        <TextInput
          label={text.dialog.reason}
          description={text.dialog.reasonHelp}
          required
          autoComplete="off"
          maxLength={200}
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
        />
      </Form>
    </Dialog>
  );
}
