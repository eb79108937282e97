/** Form for the settings of an auto-delegation. It shows the cost in dollars before it saves. */
import { Button, TextInput } from '@mantine/core';
import { useState } from 'react';
import type {
  KeepingPreview,
  OneAutoDelegation,
  SetAutoDelegation,
} from '../../../../../src/modules/console/integration-shapes.js';
import { dollarsText, dollarsTyped, wholeTyped } from '../../../../../src/domain/typed-amount.js';
import { toJsonInteger } from '../../../../../src/domain/units.js';
import { useAct } from '../../api/act.js';
import { post } from '../../api/client.js';
import { grouped, usd, usdExact } from '../../format/money.js';
import { span, spanTyped } from '../../format/time.js';
import { Dialog } from '../../parts/dialog.js';
import { Amount, Groups } from '../../parts/figures.js';
import { Form } from '../../parts/form.js';
import { Facts } from '../../parts/lines.js';
import { Notice } from '../../parts/notice.js';
import { useProject } from '../../shell/project.js';
import { AUTO } from '../../text/auto-delegation.js';
import { COMMON } from '../../text/common.js';
import { CapField } from './cap-field.js';

const ADDRESS = /^T[1-9A-HJ-NP-Za-km-z]{33}$/;
const text = AUTO.form;

interface SetProps {
  /** Absent for a new auto-delegation. */
  readonly present?: OneAutoDelegation;
  readonly onClose: () => void;
  readonly onSet: (set: OneAutoDelegation) => void;
}

interface Asked {
  readonly address: string;
  readonly terms: SetAutoDelegation;
  readonly preview: KeepingPreview;
}

export function SetDialog({ present, onClose, onSet }: SetProps) {
  const [typed, setTyped] = useState<Typed>(() => typedOf(present));
  const [asked, setAsked] = useState<Asked>();
  const title = present === undefined ? text.addTitle : text.changeTitle;
  return (
    <Dialog title={asked === undefined ? title : AUTO.confirm.title} onClose={onClose}>
      {asked === undefined ? (
        <TermsForm
          typed={typed}
          isNew={present === undefined}
          onType={(change) => setTyped({ ...typed, ...change })}
          onAsked={setAsked}
          onClose={onClose}
        />
      ) : (
        <Confirm asked={asked} isNew={present === undefined} onBack={() => setAsked(undefined)} onSet={onSet} />
      )}
    </Dialog>
  );
}

interface Typed {
  readonly address: string;
  readonly keep: string;
  readonly refill: string;
  readonly cap: string;
  readonly duration: string;
  readonly sleep: string;
  readonly most: string;
  readonly until: string;
  /** The recipient of the token transfer that sizes refills. */
  readonly recipient: string;
  /** The transfer that is set. Its amount and token, set over the API alone, stay while the recipient does. */
  readonly transfer?: Pick<SetAutoDelegation, 'transfer_to' | 'transfer_amount' | 'token'>;
}

function typedOf(present: OneAutoDelegation | undefined): Typed {
  if (present === undefined) {
    const empty = { address: '', keep: '', refill: '', cap: '', duration: '', sleep: '', most: '' };
    return { ...empty, until: '', recipient: '' };
  }
  const { daily_cap: cap, max_sun_per_energy: most, until } = present;
  return {
    address: present.address,
    keep: grouped(present.keep_energy),
    refill: grouped(present.refill_below),
    cap: cap.credits === 0 ? '' : dollarsText(BigInt(cap.credits)),
    duration: present.chooses_duration === true ? '' : span(present.duration_sec),
    sleep: span(present.idle_after_sec),
    most: most === undefined ? '' : grouped(most),
    until: until?.slice(0, 16) ?? '',
    recipient: present.transfer_to ?? '',
    ...(present.transfer_to !== undefined && { transfer: transferOf(present) }),
  };
}

function transferOf({
  transfer_to: to,
  transfer_amount: amount,
  token,
}: OneAutoDelegation): NonNullable<Typed['transfer']> {
  return {
    ...(to !== undefined && { transfer_to: to }),
    ...(amount !== undefined && { transfer_amount: amount }),
    ...(token !== undefined && { token }),
  };
}

/** Returns the transfer that sizes refills; empty for none. */
function transferTyped({ recipient, transfer }: Typed): NonNullable<Typed['transfer']> {
  const to = recipient.trim();
  if (to === '') return {};
  return to === transfer?.transfer_to ? transfer : { transfer_to: to };
}

/** Returns the fault of each field, and the request if there is none. */
function judged(typed: Typed) {
  const { value: keep, fault: keepFault } = wholeTyped(typed.keep);
  const refillRead = wholeTyped(typed.refill);
  const refill = typed.refill.trim() === '' ? null : refillRead.value;
  const cap = dollarsTyped(typed.cap).value;
  const duration = typed.duration.trim() === '' ? null : spanTyped(typed.duration);
  const sleep = typed.sleep.trim() === '' ? null : spanTyped(typed.sleep);
  const mostRead = wholeTyped(typed.most);
  const most = typed.most.trim() === '' ? null : mostRead.value;
  const isAddress = ADDRESS.test(typed.address.trim());
  const isRecipientBad = typed.recipient.trim() !== '' && !ADDRESS.test(typed.recipient.trim());
  const isRefillBad = refill === undefined || (refill !== null && keep !== undefined && refill > keep);
  const faults = {
    address: typed.address !== '' && !isAddress && text.addressBad,
    keep: typed.keep !== '' && keepFault,
    refill: isRefillBad && (refillRead.fault ?? text.refillBad),
    duration: duration === undefined && text.spanBad,
    sleep: sleep === undefined && text.spanBad,
    most: most === undefined && mostRead.fault,
    recipient: isRecipientBad && text.addressBad,
  };
  if (!isAddress || keep === undefined || cap === undefined || cap === 0n) return { faults };
  if (isRefillBad || isRecipientBad) return { faults };
  if (duration === undefined || sleep === undefined || most === undefined) return { faults };
  const terms: SetAutoDelegation = {
    keep_energy: toJsonInteger(keep),
    daily_cap_credits: toJsonInteger(cap),
    ...(refill !== null && { refill_below: toJsonInteger(refill) }),
    ...(duration !== null && { duration_sec: toJsonInteger(duration) }),
    ...(sleep !== null && { idle_after_sec: toJsonInteger(sleep) }),
    ...(most !== null && { max_sun_per_energy: toJsonInteger(most) }),
    ...(typed.until !== '' && { until: `${typed.until}:00Z` }),
    ...transferTyped(typed),
  };
  return { faults, terms };
}

interface TermsProps {
  readonly typed: Typed;
  readonly isNew: boolean;
  readonly onType: (change: Partial<Typed>) => void;
  readonly onAsked: (asked: Asked) => void;
  readonly onClose: () => void;
}

function TermsForm({ typed, isNew, onType, onAsked, onClose }: TermsProps) {
  const { api } = useProject();
  const { faults, terms } = judged(typed);
  const act = useAct(async () => {
    if (terms === undefined) return;
    const preview = await post<KeepingPreview>(`${api}/auto-delegations/preview`, terms);
    onAsked({ address: typed.address.trim(), terms, preview });
  });
  return (
    <Form
      act={act}
      submit={text.show}
      isReady={terms !== undefined}
      beside={
        <Button variant="default" onClick={onClose}>
          {COMMON.cancel}
        </Button>
      }
    >
      {isNew && (
        <TextInput
          label={text.address}
          description={text.addressHelp}
          required
          autoFocus
          autoComplete="off"
          spellCheck={false}
          error={faults.address}
          value={typed.address}
          onChange={(event) => onType({ address: event.currentTarget.value })}
        />
      )}
      <TextInput
        label={text.keep}
        description={text.keepHelp}
        required
        {...(!isNew && { autoFocus: true })}
        inputMode="numeric"
        autoComplete="off"
        error={faults.keep}
        value={typed.keep}
        onChange={(event) => onType({ keep: event.currentTarget.value })}
      />
      <CapField value={typed.cap} onType={(cap) => onType({ cap })} />
      <MoreFields typed={typed} faults={faults} onType={onType} />
    </Form>
  );
}

interface MoreProps extends Pick<TermsProps, 'typed' | 'onType'> {
  readonly faults: ReturnType<typeof judged>['faults'];
}

function MoreFields({ typed, faults, onType }: MoreProps) {
  const field = (name: 'recipient' | 'refill' | 'duration' | 'sleep' | 'most', help: string) => (
    <TextInput
      label={text[name]}
      description={help}
      autoComplete="off"
      error={faults[name]}
      value={typed[name]}
      onChange={(event) => onType({ [name]: event.currentTarget.value })}
    />
  );
  return (
    <details className="more-fields">
      <summary>{text.more}</summary>
      {field('recipient', text.recipientHelp)}
      {field('refill', text.refillHelp)}
      {field('duration', text.durationHelp)}
      {field('sleep', text.sleepHelp)}
      {field('most', text.mostHelp)}
      <TextInput
        label={text.until}
        description={text.untilHelp}
        type="datetime-local"
        value={typed.until}
        onChange={(event) => onType({ until: event.currentTarget.value })}
      />
    </details>
  );
}

interface ConfirmProps {
  readonly asked: Asked;
  readonly isNew: boolean;
  readonly onBack: () => void;
  readonly onSet: (set: OneAutoDelegation) => void;
}

function Confirm({ asked: { address, terms, preview }, isNew, onBack, onSet }: ConfirmProps) {
  const { api } = useProject();
  const words = AUTO.confirm;
  const act = useAct(async () => {
    onSet(await post<OneAutoDelegation>(`${api}/auto-delegations/${address}`, terms));
  });
  return (
    <>
      <Groups text={address} name={text.address} withoutCopy />
      <Costs preview={preview} />
      <Form
        act={act}
        submit={isNew ? words.submit : words.save}
        beside={
          <Button variant="default" onClick={onBack}>
            {COMMON.back}
          </Button>
        }
      >
        <p className="dim">{words.note}</p>
      </Form>
    </>
  );
}

export function Costs({ preview }: { readonly preview: KeepingPreview }) {
  const words = AUTO.confirm;
  const { idle_per_day: idle, per_refill: refill, daily_cap: cap, balance, days_by_cap: days } = preview;
  return (
    <>
      <Facts
        of={[
          [
            AUTO.one.keep,
            `${AUTO.energyOf(grouped(preview.keep_energy))}, ${AUTO.below(grouped(preview.refill_below))}`,
          ],
          [AUTO.one.duration, span(preview.duration_sec)],
          [words.perRefill, <Amount key="refill" credits={refill.credits} />],
          [words.idle, words.aDay(usdExact(idle.credits))],
          [words.most, <strong key="most">{words.aDay(usdExact(cap.credits))}</strong>],
          [
            words.balance,
            `${usd(balance.credits)}${days === undefined ? '' : `, ${days === 0 ? words.lastsNot : words.lasts(grouped(days))}`}`,
          ],
        ]}
      />
      {cap.credits < idle.credits && <Notice tone="warn">{words.capLow}</Notice>}
      {balance.credits < refill.credits && <Notice tone="warn">{words.balanceLow}</Notice>}
    </>
  );
}
