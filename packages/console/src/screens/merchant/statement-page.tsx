/** One statement, or the open month so far, as a sheet to print. */
import { Button } from '@mantine/core';
import { Link } from 'wouter';
import type {
  LedgerKind,
  MeasuredSaving,
  OneStatement,
  StatementEntry,
} from '../../../../../src/modules/console/data-shapes.js';
import { useReadOnce } from '../../api/project-data.js';
import { grouped } from '../../format/money.js';
import { sentenceText } from '../../format/sentence.js';
import { utcMoment } from '../../format/time.js';
import { Amount } from '../../parts/figures.js';
import { Facts, Lines, type Column } from '../../parts/lines.js';
import { Loaded } from '../../parts/loaded.js';
import { Page, Section } from '../../parts/page.js';
import { pathOf, useProject } from '../../shell/project.js';
import { BillingNav } from '../../shell/subnav.js';
import { LEDGER, STATEMENT } from '../../text/billing.js';

const text = STATEMENT;
const KINDS = ['deposit', 'topup', 'charge', 'refund', 'compensation', 'adjustment'] as const satisfies LedgerKind[];

/** As in print.css. */
const SHOWN = 100;
const titles = text.columns;
const ENTRY_COLUMNS: readonly Column<StatementEntry>[] = [
  {
    title: titles.when,
    cell: ({ created_at: at }) => <span className="one-line">{utcMoment(new Date(at)).replace(' UTC', '')}</span>,
  },
  {
    title: titles.what,
    cell: ({ kind, description }) => (
      <>
        <strong>{LEDGER.kinds[kind]}</strong> {description !== LEDGER.kinds[kind] && sentenceText(description)}
      </>
    ),
  },
  { title: titles.of, cell: ({ order_key: order, reference }) => order ?? reference ?? '–' },
  { title: titles.amount, cell: ({ credits }) => <Amount credits={credits} isSigned withoutCredits />, isFigure: true },
  { title: titles.balance, cell: ({ balance }) => <Amount credits={balance} withoutCredits />, isFigure: true },
];

export function StatementPage({ number }: { readonly number: string }) {
  const { id, api } = useProject();
  const name = encodeURIComponent(number);
  const statement = useReadOnce<OneStatement>(['statement', id, name], `${api}/statement/${name}`);
  return (
    <Page
      title={number === 'open' ? text.open : text.title(number)}
      above={
        <>
          <BillingNav />
          <p>
            <Link href={pathOf(id, '/billing/statements')} className="crumb">
              ← {text.back}
            </Link>
          </p>
        </>
      }
      actions={
        <>
          <a className="crumb" href={`${api}/statements/${name}.csv`} download>
            {text.csv}
          </a>
          <Button variant="default" onClick={() => print()}>
            {text.print}
          </Button>
        </>
      }
    >
      <Loaded query={statement} lines={8}>
        {(data) => (
          <>
            <Sheet statement={data} />
            {data.measured !== undefined && <Measured of={data.measured} month={data.month} />}
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Measured({ of, month }: { readonly of: MeasuredSaving; readonly month: string }) {
  return (
    <Section title={text.measured.title} note={text.measured.note(month)}>
      <Facts
        of={[
          [text.measured.used, grouped(of.used_energy)],
          [text.measured.burning, <Amount key="burning" credits={of.burning.credits} />],
          [text.measured.saved, <Amount key="saved" credits={of.saved.credits} isBalance />],
        ]}
      />
    </Section>
  );
}

function Sheet({ statement }: { readonly statement: OneStatement }) {
  const { id, membership } = useProject();
  const { number, month, from, to, opening, closing, entries, totals, lines, closed_at: closedAt } = statement;
  const moved = KINDS.filter((kind) => totals !== undefined && totals[kind].credits !== 0);
  return (
    <article className="receipt" data-print>
      <h2>
        {number === undefined ? text.open : text.title(number)} {month}
      </h2>
      <Facts
        of={[
          [text.project, membership?.name],
          [
            text.merchantId,
            <span key="id" className="mono">
              {id}
            </span>,
          ],
          [
            text.period,
            <>
              <span className="one-line">{utcMoment(new Date(from))}</span> {text.to}{' '}
              <span className="one-line">{utcMoment(new Date(to))}</span>
            </>,
          ],
          [text.opening, <Amount key="opening" credits={opening.credits} />],
          ...moved.map(
            (kind) =>
              [LEDGER.kinds[kind], <Amount key={kind} credits={totals?.[kind].credits ?? 0} isSigned />] as const,
          ),
          [number === undefined ? text.balance : text.closing, closing && <Amount credits={closing.credits} />],
          [text.entries, entries === undefined ? undefined : grouped(entries)],
          [text.closedAt, closedAt && utcMoment(new Date(closedAt))],
        ]}
      />
      {totals === undefined && <p>{text.tooMany}</p>}
      {lines === undefined && totals !== undefined && <p>{text.tooLong}</p>}
      {lines !== undefined && lines.length > 0 && (
        <>
          <Entries lines={lines} />
          <p className="sheet-total">
            <span>{number === undefined ? text.balance : text.closing}</span>
            {closing !== undefined && <Amount credits={closing.credits} />}
          </p>
        </>
      )}
      <p className="dim">{number === undefined ? text.notFinal : text.final}</p>
    </article>
  );
}

/** All lines are in the page, so that the browser prints all of them; the screen shows the first hundred. */
function Entries({ lines }: { readonly lines: readonly StatementEntry[] }) {
  return (
    <div className="sheet-lines">
      <Lines caption={text.caption} columns={ENTRY_COLUMNS} items={lines} keyOf={({ id }) => id} />
      {lines.length > SHOWN && <p className="dim screen-only">{text.more(SHOWN, lines.length)}</p>}
    </div>
  );
}
