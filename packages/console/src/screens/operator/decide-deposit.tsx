/** Credits or refuses a held deposit, with its evidence and a typed reason. Above the limit a second admin must approve. */
import { Button, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type {
  DecidedDeposit,
  DecideDeposit as Decision,
  DepositEvidence,
  OperatorDeposit,
} from '../../../../../src/modules/console/operator-shapes.js';
import { useAct } from '../../api/act.js';
import { get, post } from '../../api/client.js';
import { assetText, usd } from '../../format/money.js';
import { Choice } from '../../parts/choice.js';
import { Dialog } from '../../parts/dialog.js';
import { Amount, Groups, Moment } from '../../parts/figures.js';
import { Form } from '../../parts/form.js';
import { Facts } from '../../parts/lines.js';
import { Loaded } from '../../parts/loaded.js';
import { Notice } from '../../parts/notice.js';
import { COMMON } from '../../text/common.js';
import { DECIDE_DEPOSIT } from '../../text/decide-deposit.js';

const text = DECIDE_DEPOSIT;
type Choosable = Decision['decision'];

interface DecideDepositProps {
  readonly deposit: OperatorDeposit;
  readonly onClose: () => void;
}

export function DecideDeposit({ deposit, onClose }: DecideDepositProps) {
  const [done, setDone] = useState<string>();
  const evidence = useQuery({
    queryKey: ['deposit-evidence', deposit.id],
    queryFn: () => get<DepositEvidence>(`/api/operator/deposits/${deposit.id}`),
  });
  return (
    <Dialog title={text.title(deposit.id)} onClose={onClose}>
      {done === undefined ? (
        <Loaded query={evidence} lines={6}>
          {(data) => <Typed evidence={data} onDone={setDone} onClose={onClose} />}
        </Loaded>
      ) : (
        <>
          <div role="status">
            <Notice tone="good">
              <p>{done}</p>
            </Notice>
          </div>
          <Button onClick={onClose}>{COMMON.done}</Button>
        </>
      )}
    </Dialog>
  );
}

/** Shows the payment and the reason for which it is held. */
export function Evidence({ deposit }: { readonly deposit: OperatorDeposit }) {
  const { facts } = text;
  return (
    <Facts
      of={[
        [facts.project, deposit.project.name],
        [facts.amount, assetText(deposit.amount, deposit.asset)],
        [facts.why, deposit.says],
        [facts.sender, <Groups key="sender" text={deposit.from_address} name={facts.sender} />],
        [facts.address, <Groups key="address" text={deposit.address} name={facts.address} />],
        [
          facts.contract,
          deposit.contract === undefined ? undefined : (
            <Groups key="contract" text={deposit.contract} name={facts.contract} />
          ),
        ],
        [facts.txid, <Groups key="txid" text={deposit.txid} name={facts.txid} size={8} />],
        [
          facts.block,
          <>
            {text.blockAt(deposit.block_number)} <Moment at={deposit.block_timestamp} clock="chain" />
          </>,
        ],
      ]}
    />
  );
}

interface TypedProps {
  readonly evidence: DepositEvidence;
  readonly onDone: (says: string) => void;
  readonly onClose: () => void;
}

function Typed({ evidence, onDone, onClose }: TypedProps) {
  // Idempotency: submitting the same dialog twice makes one request.
  const [id] = useState(() => crypto.randomUUID());
  const [decision, setDecision] = useState<Choosable>();
  const [reason, setReason] = useState('');
  const cache = useQueryClient();
  const { deposit, worth, small_amount: small, balance, limit } = evidence;
  const isAbove = worth !== undefined && worth.credits > limit.credits;
  const act = useAct(async () => {
    if (decision === undefined || worth === undefined) return;
    const request: Decision = { id, decision, worth_credits: worth.credits, reason: reason.trim() };
    const decided = await post<DecidedDeposit>(`/api/operator/deposits/${deposit.id}/decide`, request);
    onDone(decided.request === undefined ? text.done[decision] : text.asked);
    await cache.invalidateQueries();
  });
  return (
    <Form
      act={act}
      submit={isAbove ? text.ask : text.submit}
      isDangerous={decision === 'refuse'}
      isReady={decision !== undefined && worth !== undefined && reason.trim() !== ''}
      beside={
        <Button variant="default" onClick={onClose}>
          {COMMON.cancel}
        </Button>
      }
    >
      <Evidence deposit={deposit} />
      <Facts
        of={[
          [text.facts.small, small === undefined ? undefined : assetText(small, deposit.asset)],
          [text.facts.worth, worth === undefined ? undefined : <Amount key="worth" credits={worth.credits} />],
          [text.facts.balance, <Amount key="balance" credits={balance.credits} isBalance />],
        ]}
      />
      {worth === undefined && <Notice tone="warn">{text.noWorth}</Notice>}
      <fieldset>
        <legend>{text.decision}</legend>
        {(['credit', 'refuse'] as const).map((each) => (
          <Choice
            key={each}
            name="decision"
            word={text.choices[each][0]}
            note={text.choices[each][1]}
            isChosen={decision === each}
            onChoose={() => setDecision(each)}
          />
        ))}
      </fieldset>
      <TextInput
        label={text.reason}
        description={text.reasonHelp}
        required
        autoComplete="off"
        maxLength={1000}
        value={reason}
        onChange={(event) => setReason(event.currentTarget.value)}
      />
      {isAbove && <Notice tone="info">{text.above(usd(limit.credits))}</Notice>}
    </Form>
  );
}
