/** "Why did it burn?": asks a worker to explain one transaction, and shows its answer. */
import { TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { Link, useSearchParams } from 'wouter';
import type {
  AskedExplanation,
  AskExplanation,
  ExplainedCause,
  ExplainedRental,
  ExplainedTransaction,
  ExplanationShape,
} from '../../../../src/modules/console/explanation-shapes.js';
import { post } from '../api/client.js';
import { useReadEvery } from '../api/project-data.js';
import { grouped, trx } from '../format/money.js';
import { sentenceText } from '../format/sentence.js';
import { Groups, Moment } from '../parts/figures.js';
import { Form } from '../parts/form.js';
import { Facts, Lines, type Column } from '../parts/lines.js';
import { Loaded } from '../parts/loaded.js';
import { Notice } from '../parts/notice.js';
import { Page, Section } from '../parts/page.js';
import { orderPath, pathOf } from '../shell/project.js';
import { EXPLAIN } from '../text/explain.js';

const text = EXPLAIN;
const TXID = /^[0-9a-fA-F]{64}$/;
const EVERY_MS = 1000;
/** A worker answers within seconds. */
const LATE_MS = 15_000;

interface ExplainPageProps {
  /** Absent for the orders of all projects. */
  readonly projectId?: string;
}

export function ExplainPage({ projectId }: ExplainPageProps) {
  const [search, setSearch] = useSearchParams();
  const txid = search.get('txid')?.trim() ?? '';
  const [typed, setTyped] = useState(txid);
  const [turn, setTurn] = useState(0);
  const isTxid = TXID.test(typed.trim());
  const ask = () => {
    setSearch({ txid: typed.trim() });
    setTurn(turn + 1);
  };
  return (
    <Page title={text.title} lead={projectId === undefined ? text.leadService : text.lead}>
      <Form act={{ isUnderWay: false, failure: null, run: ask }} submit={text.submit} isReady={isTxid}>
        <TextInput
          label={text.txid}
          description={text.txidHelp}
          value={typed}
          error={typed.trim() !== '' && !isTxid && text.txidBad}
          spellCheck={false}
          autoComplete="off"
          onChange={({ currentTarget }) => setTyped(currentTarget.value)}
        />
      </Form>
      {TXID.test(txid) && <Explanation key={`${txid} ${turn.toString()}`} txid={txid} projectId={projectId} />}
    </Page>
  );
}

interface ExplanationProps {
  readonly txid: string;
  readonly projectId: string | undefined;
}

/** Asks once, then polls until the answer is there. */
function Explanation({ txid, projectId }: ExplanationProps) {
  const path = projectId === undefined ? '/api/operator/explanations' : `/api/projects/${projectId}/explanations`;
  const asked = useQuery({
    queryKey: ['ask-explanation', path, txid],
    queryFn: () => post<AskedExplanation>(path, { txid } satisfies AskExplanation),
    staleTime: Infinity,
    gcTime: 0,
    retry: false,
  });
  const id = asked.data?.id;
  const state = useReadEvery<ExplanationShape>(
    ['explanation', path, id],
    `${path}/${id ?? ''}`,
    (data) => (data?.answered === true ? false : EVERY_MS),
    id !== undefined,
  );
  const isLate = useIsLate();
  if (asked.isError) return <Loaded query={asked}>{() => null}</Loaded>;
  return (
    <div aria-live="polite">
      {state.data?.answered === true ? (
        <Answered shape={state.data} projectId={projectId} />
      ) : isLate ? (
        <Notice tone="warn" title={text.late.title}>
          <p>{text.late.body}</p>
        </Notice>
      ) : (
        <p className="dim">{text.waiting}</p>
      )}
    </div>
  );
}

function useIsLate(): boolean {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), LATE_MS);
    return () => clearTimeout(timer);
  }, []);
  return isLate;
}

interface AnsweredProps {
  readonly shape: ExplanationShape;
  readonly projectId: string | undefined;
}

function Answered({ shape: { answer, error }, projectId }: AnsweredProps) {
  if (error !== undefined) {
    return (
      <Notice tone="bad" title={text.failed.title}>
        <p>{error === 'CHAIN_UNAVAILABLE' ? text.failed.CHAIN_UNAVAILABLE : text.failed.other}</p>
      </Notice>
    );
  }
  if (answer === undefined) {
    return (
      <Notice tone="info" title={text.none.title}>
        <p>{text.none.body}</p>
      </Notice>
    );
  }
  return (
    <>
      <p className="lead">{sentenceText(answer.sentence)}</p>
      {!answer.solid && <p className="dim">{text.notFinal}</p>}
      <Section title={text.causes}>
        {answer.causes.map((cause) => (
          <Cause key={`${cause.code} ${cause.order_key ?? ''}`} cause={cause} projectId={projectId} />
        ))}
      </Section>
      {answer.rentals.length > 0 && (
        <Section title={text.rentals} note={text.rentalsNote}>
          <Lines
            caption={text.rentals}
            columns={rentalColumns(projectId)}
            items={answer.rentals}
            keyOf={({ order_key: key }) => key}
          />
        </Section>
      )}
      <Figures answer={answer} />
    </>
  );
}

function Cause({ cause, projectId }: { readonly cause: ExplainedCause; readonly projectId: string | undefined }) {
  const { code, sentence, next, burn_sun: burn, order_key: key, txid } = cause;
  return (
    <div className="explained-cause">
      <p>{sentenceText(sentence)}</p>
      <p>→ {sentenceText(next)}</p>
      <Facts
        of={[
          [text.code, <code key="code">{code}</code>],
          [text.total, burn > 0 ? trx(burn) : undefined],
          [text.order, key && <OrderLink orderKey={key} projectId={projectId} />],
          [text.earlier, txid && <Groups text={txid} name={text.earlier} />],
        ]}
      />
    </div>
  );
}

/** Across projects a key alone does not name an order, so it is no link. */
function OrderLink({ orderKey, projectId }: { readonly orderKey: string; readonly projectId: string | undefined }) {
  if (projectId === undefined) return <span className="mono">{orderKey}</span>;
  return (
    <Link href={orderPath(projectId, orderKey)} className="mono order-link">
      {orderKey}
    </Link>
  );
}

function rentalColumns(projectId: string | undefined): Column<ExplainedRental>[] {
  const titles = text.rentalColumns;
  const energy = (title: string, of: (rental: ExplainedRental) => number): Column<ExplainedRental> => ({
    title,
    cell: (rental) => (of(rental) === 0 ? '–' : grouped(of(rental))),
    isFigure: true,
  });
  return [
    { title: titles.order, cell: ({ order_key: key }) => <OrderLink orderKey={key} projectId={projectId} /> },
    energy(titles.running, (rental) => rental.running_energy),
    energy(titles.later, (rental) => rental.later_energy),
    energy(titles.ended, (rental) => rental.ended_energy),
  ];
}

function Figures({ answer }: { readonly answer: ExplainedTransaction }) {
  const address = (name: string, of: string | undefined) => of && <Groups text={of} name={name} />;
  const count = (of: number | undefined) => (of === undefined ? undefined : grouped(of));
  const sun = (of: number | undefined) => (of === undefined ? undefined : trx(of));
  return (
    <Section title={text.figures}>
      <Facts
        of={[
          [text.result, answer.result],
          [text.block, count(answer.block_number)],
          [text.at, answer.block_timestamp && <Moment at={answer.block_timestamp} clock="chain" />],
          [text.sender, address(text.sender, answer.owner_address)],
          [text.receiver, address(text.receiver, answer.receive_address)],
          [text.contract, address(text.contract, answer.contract_address)],
          [text.recipient, address(text.recipient, answer.to_address)],
          [text.used, count(answer.energy_used)],
          [text.staked, count(answer.staked_energy)],
          [text.deployer, count(answer.deployer_energy)],
          [text.burntEnergy, count(answer.burnt_energy)],
          [text.energyBurn, sun(answer.energy_burn_sun)],
          [text.bandwidthBurn, sun(answer.bandwidth_burn_sun)],
          [text.activationBurn, sun(answer.activation_burn_sun)],
          [text.total, sun(answer.total_burn_sun)],
          [text.feeLimit, sun(answer.fee_limit_sun)],
        ]}
      />
    </Section>
  );
}

/** Returns the path of the page, with a transaction to explain immediately. */
export function explainPath(projectId: string | undefined, txid?: string): string {
  const page = projectId === undefined ? '/explain' : pathOf(projectId, '/explain');
  return txid === undefined ? page : `${page}?txid=${encodeURIComponent(txid)}`;
}
