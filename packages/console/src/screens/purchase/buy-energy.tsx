/** The form that buys energy: address, amount and time, then the price, then the confirmation. */
import { Button, Checkbox, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import type {
  ConfirmedPurchase,
  Purchased,
  PurchasePreview,
  PurchaseTerms,
  WantedPurchase,
} from '../../../../../src/modules/console/purchase-shapes.js';
import { wholeTyped } from '../../../../../src/domain/typed-amount.js';
import { toJsonInteger } from '../../../../../src/domain/units.js';
import { useAct } from '../../api/act.js';
import { post } from '../../api/client.js';
import { useProjectData } from '../../api/project-data.js';
import { grouped } from '../../format/money.js';
import { span } from '../../format/time.js';
import { Choice } from '../../parts/choice.js';
import { Dialog } from '../../parts/dialog.js';
import { Form } from '../../parts/form.js';
import { Loaded } from '../../parts/loaded.js';
import { orderPath, useProject } from '../../shell/project.js';
import { COMMON } from '../../text/common.js';
import { PURCHASE } from '../../text/purchases.js';
import { ConfirmPurchase } from './confirm-purchase.js';
import { useFormKey } from './form-key.js';
import { AlreadyBought, CapLeft } from './purchase-state.js';
import { TimeFields, timeOf, usualTime, type TypedTime } from './time-fields.js';

const text = PURCHASE;
/** TRON: a token transfer takes 345 bytes. */
const BANDWIDTH_MIN = 345n;

/** The button, and the form while the page's URL has its key. `receiver` fills in the address. */
export function BuyEnergy({ receiver }: { readonly receiver: string }) {
  const { key, open, close } = useFormKey('buy');
  return (
    <>
      <Button onClick={open}>{text.button}</Button>
      {key !== undefined && <BuyDialog key={key} formKey={key} receiver={receiver} onClose={close} onAgain={open} />}
    </>
  );
}

interface BuyProps {
  readonly formKey: string;
  readonly receiver: string;
  readonly onClose: () => void;
  readonly onAgain: () => void;
}

function BuyDialog({ formKey, receiver, onClose, onAgain }: BuyProps) {
  const [isConfirming, setConfirming] = useState(false);
  const terms = useProjectData<PurchaseTerms>(`/purchases?key=${formKey}`);
  return (
    <Dialog title={isConfirming ? text.confirm.title : text.title} onClose={onClose}>
      <Loaded query={terms} lines={6}>
        {(data) =>
          data.bought === undefined ? (
            <Steps terms={data} formKey={formKey} receiver={receiver} onClose={onClose} onStep={setConfirming} />
          ) : (
            <AlreadyBought order={data.bought} onAgain={onAgain} />
          )
        }
      </Loaded>
    </Dialog>
  );
}

interface StepsProps extends Omit<BuyProps, 'onAgain'> {
  readonly terms: PurchaseTerms;
  readonly onStep: (isConfirming: boolean) => void;
}

type Amount = 'holder' | 'new_holder' | 'other';

interface Typed {
  readonly address: string;
  readonly amount: Amount;
  readonly energy: string;
  readonly bandwidth: string;
  readonly activates: boolean;
  readonly time: TypedTime;
}

interface Asked {
  readonly wanted: WantedPurchase;
  readonly preview: PurchasePreview;
}

function Steps({ terms, formKey, receiver, onClose, onStep }: StepsProps) {
  const { id, api } = useProject();
  const cache = useQueryClient();
  const [, go] = useLocation();
  const [typed, setTyped] = useState<Typed>(() => ({
    address: receiver,
    amount: 'holder',
    energy: '',
    bandwidth: '',
    activates: false,
    time: usualTime(terms.durations),
  }));
  const [asked, setAsked] = useState<Asked>();
  const ask = (next: Asked | undefined) => {
    setAsked(next);
    onStep(next !== undefined);
  };
  const onBought = ({ order }: Purchased) => {
    // Another order changes the lists and the balance.
    void cache.invalidateQueries({ predicate: ({ queryKey }) => queryKey.includes(id) });
    go(orderPath(id, order), { replace: true });
  };
  if (asked === undefined) {
    return <WantedForm terms={terms} typed={typed} onType={setTyped} onAsked={ask} onClose={onClose} />;
  }
  return (
    <ConfirmPurchase
      preview={asked.preview}
      submit={text.confirm.submit}
      note={text.confirm.note}
      send={async (credits) => {
        const request: ConfirmedPurchase = { ...asked.wanted, key: formKey, credits };
        return post<Purchased>(`${api}/purchases`, request);
      }}
      onBought={onBought}
      onBack={() => ask(undefined)}
    />
  );
}

interface WantedProps {
  readonly terms: PurchaseTerms;
  readonly typed: Typed;
  readonly onType: (typed: Typed) => void;
  readonly onAsked: (asked: Asked) => void;
  readonly onClose: () => void;
}

function WantedForm({ terms, typed, onType, onAsked, onClose }: WantedProps) {
  const { api } = useProject();
  const energy = typed.amount === 'other' ? wholeTyped(typed.energy).value : BigInt(terms.amounts[typed.amount]);
  const time = timeOf(typed.time);
  const address = typed.address.trim();
  const bandwidth = bandwidthOf(typed, terms, time?.duration_sec);
  const act = useAct(async () => {
    if (energy === undefined || time === undefined) return;
    const wanted: WantedPurchase = {
      receive_address: address,
      energy: toJsonInteger(energy),
      ...time,
      ...(bandwidth.units !== undefined && { bandwidth: bandwidth.units }),
      ...(typed.activates && { activate: true }),
    };
    onAsked({ wanted, preview: await post<PurchasePreview>(`${api}/purchases/preview`, wanted) });
  });
  return (
    <Form
      act={act}
      submit={text.show}
      isReady={address !== '' && energy !== undefined && time !== undefined && bandwidth.fault === undefined}
      beside={
        <Button variant="default" onClick={onClose}>
          {COMMON.cancel}
        </Button>
      }
    >
      <CapLeft terms={terms} />
      <TextInput
        label={text.address}
        description={text.addressHelp}
        required
        autoFocus
        autoComplete="off"
        spellCheck={false}
        value={typed.address}
        onChange={(event) => onType({ ...typed, address: event.currentTarget.value })}
      />
      <AmountFields terms={terms} typed={typed} onType={onType} />
      <TimeFields
        label={text.duration}
        durations={terms.durations}
        typed={typed.time}
        onType={(changed) => onType({ ...typed, time: changed })}
      />
      {terms.bandwidth_max_sec !== undefined && (
        <TextInput
          label={text.bandwidth}
          description={text.bandwidthHelp}
          inputMode="numeric"
          autoComplete="off"
          value={typed.bandwidth}
          error={bandwidth.fault}
          onChange={(event) => onType({ ...typed, bandwidth: event.currentTarget.value })}
        />
      )}
      <Checkbox
        label={text.activate}
        description={text.activateHelp}
        checked={typed.activates}
        onChange={(event) => onType({ ...typed, activates: event.currentTarget.checked })}
      />
    </Form>
  );
}

interface TypedBandwidth {
  readonly units?: number;
  readonly fault?: string;
}

/** Returns the units typed, or why they cannot be bought for this duration; neither if nothing is typed. */
function bandwidthOf({ bandwidth }: Typed, terms: PurchaseTerms, durationSec: number | undefined): TypedBandwidth {
  const longest = terms.bandwidth_max_sec;
  if (bandwidth.trim() === '' || longest === undefined) return {};
  if (durationSec !== undefined && durationSec > longest) return { fault: text.bandwidthTooLong(span(longest)) };
  const { value } = wholeTyped(bandwidth);
  return value === undefined || value < BANDWIDTH_MIN ? { fault: text.bandwidthBad } : { units: toJsonInteger(value) };
}

function AmountFields({ terms, typed, onType }: Pick<WantedProps, 'terms' | 'typed' | 'onType'>) {
  const words = text.amounts;
  const { holder, new_holder: newHolder } = terms.amounts;
  const fault = wholeTyped(typed.energy).fault;
  const choices: readonly (readonly [Amount, string, string])[] = [
    ['holder', words.holder, words.holderNote(grouped(holder))],
    ['new_holder', words.newHolder, words.newHolderNote(grouped(newHolder))],
    ['other', words.other, words.otherNote],
  ];
  return (
    <>
      <fieldset>
        <legend>{text.amount}</legend>
        {choices.map(([amount, word, note]) => (
          <Choice
            key={amount}
            name="amount"
            word={word}
            note={note}
            isChosen={typed.amount === amount}
            onChoose={() => onType({ ...typed, amount })}
          />
        ))}
      </fieldset>
      {typed.amount === 'other' && (
        <TextInput
          label={text.energy}
          required
          inputMode="numeric"
          autoComplete="off"
          value={typed.energy}
          error={typed.energy !== '' && fault}
          onChange={(event) => onType({ ...typed, energy: event.currentTarget.value })}
        />
      )}
    </>
  );
}
