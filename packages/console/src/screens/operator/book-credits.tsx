/** Form that books credits of a project with a reason. Above the limit a second admin must approve. */
import { Button, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type {
  BookCredits as Booking,
  BookedCredits,
  CreditRequestList,
  ProjectLine,
} from '../../../../../src/modules/console/operator-shapes.js';
import { dollarsTyped } from '../../../../../src/domain/typed-amount.js';
import { toJsonInteger } from '../../../../../src/domain/units.js';
import { useAct } from '../../api/act.js';
import { get, post } from '../../api/client.js';
import { usd } from '../../format/money.js';
import { Choice } from '../../parts/choice.js';
import { Dialog } from '../../parts/dialog.js';
import { Amount } from '../../parts/figures.js';
import { Form } from '../../parts/form.js';
import { Facts } from '../../parts/lines.js';
import { Notice } from '../../parts/notice.js';
import { COMMON } from '../../text/common.js';
import { CREDITS } from '../../text/credits.js';

const text = CREDITS;
const KINDS = [
  ['topup', text.topup, text.topupNote],
  ['add', text.add, text.addNote],
  ['takeOff', text.takeOff, text.takeOffNote],
] as const;
type Kind = (typeof KINDS)[number][0];

interface BookCreditsProps {
  readonly project: ProjectLine;
  readonly onClose: () => void;
}

export function BookCredits({ project, onClose }: BookCreditsProps) {
  const [done, setDone] = useState<BookedCredits>();
  return (
    <Dialog title={text.title(project.name)} onClose={onClose}>
      {done === undefined ? (
        <Typed project={project} onDone={setDone} onClose={onClose} />
      ) : (
        <>
          <div role="status">
            <Notice tone={done.booked?.is_new === false ? 'warn' : 'good'}>
              <p>{saysOf(done)}</p>
            </Notice>
          </div>
          {done.booked !== undefined && (
            <Facts of={[[text.balance, <Amount key="balance" credits={done.booked.balance.credits} isBalance />]]} />
          )}
          <Button onClick={onClose}>{COMMON.done}</Button>
        </>
      )}
    </Dialog>
  );
}

function saysOf({ booked }: BookedCredits): string {
  if (booked === undefined) return text.asked;
  return booked.is_new ? text.booked : text.bookedBefore;
}

interface TypedProps extends BookCreditsProps {
  readonly onDone: (done: BookedCredits) => void;
}

function Typed({ project, onDone, onClose }: TypedProps) {
  // Idempotency: submitting the same dialog twice makes one booking.
  const [id] = useState(() => crypto.randomUUID());
  const [kind, setKind] = useState<Kind>('topup');
  const [amount, setAmount] = useState('');
  const [reference, setReference] = useState('');
  const [reason, setReason] = useState('');
  const cache = useQueryClient();
  const limit = useLimit();
  const { value: typed, fault } = dollarsTyped(amount);
  const credits = typed === undefined || typed === 0n ? undefined : typed;
  const isAbove = credits !== undefined && limit !== undefined && credits > limit;
  const act = useAct(async () => {
    if (credits === undefined) return;
    const request: Booking = {
      id,
      kind: kind === 'topup' ? 'topup' : 'adjustment',
      credits: toJsonInteger(credits),
      ...(kind === 'takeOff' && { takes_off: true }),
      ...(reference.trim() !== '' && { reference: reference.trim() }),
      reason: reason.trim(),
    };
    onDone(await post<BookedCredits>(`/api/operator/projects/${project.id}/credits`, request));
    await cache.invalidateQueries();
  });
  return (
    <Form
      act={act}
      submit={isAbove ? text.ask : text.submit}
      isReady={credits !== undefined && reason.trim() !== ''}
      beside={
        <Button variant="default" onClick={onClose}>
          {COMMON.cancel}
        </Button>
      }
    >
      <fieldset>
        <legend>{text.kind}</legend>
        {KINDS.map(([of, word, note]) => (
          <Choice key={of} name="kind" word={word} note={note} isChosen={kind === of} onChoose={() => setKind(of)} />
        ))}
      </fieldset>
      <TextInput
        label={text.amount}
        required
        inputMode="decimal"
        autoComplete="off"
        value={amount}
        error={amount !== '' && credits === undefined && (fault ?? text.amountBad)}
        onChange={(event) => setAmount(event.currentTarget.value)}
      />
      <TextInput
        label={text.reference}
        description={text.referenceHelp}
        autoComplete="off"
        maxLength={200}
        value={reference}
        onChange={(event) => setReference(event.currentTarget.value)}
      />
      <TextInput
        label={text.reason}
        description={text.reasonHelp}
        required
        autoComplete="off"
        maxLength={200}
        value={reason}
        onChange={(event) => setReason(event.currentTarget.value)}
      />
      {credits !== undefined && <After project={project} moved={kind === 'takeOff' ? -credits : credits} />}
      {isAbove && <Notice tone="info">{text.above(usd(limit))}</Notice>}
    </Form>
  );
}

function useLimit(): bigint | undefined {
  const requests = useQuery({
    queryKey: ['credit-requests'],
    queryFn: () => get<CreditRequestList>('/api/operator/credit-requests'),
  });
  return requests.data === undefined ? undefined : BigInt(requests.data.limit.credits);
}

function After({ project, moved }: { readonly project: ProjectLine; readonly moved: bigint }) {
  const now = BigInt(project.balance.credits);
  return (
    <Facts
      of={[
        [text.balance, <Amount key="now" credits={now} isBalance />],
        [text.after, <Amount key="after" credits={now + moved} isBalance />],
      ]}
    />
  );
}
