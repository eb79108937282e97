/** The last step of a purchase: names amount, address and price, and sends the form’s one request. */
import { Button } from '@mantine/core';
import type { Purchased, PurchasePreview } from '../../../../../src/modules/console/purchase-shapes.js';
import { useAct } from '../../api/act.js';
import { isOffline, Refusal } from '../../api/failure.js';
import { assetText, grouped, usdExact } from '../../format/money.js';
import { span } from '../../format/time.js';
import { Amount, Groups, Moment } from '../../parts/figures.js';
import { Form } from '../../parts/form.js';
import { Facts } from '../../parts/lines.js';
import { Notice } from '../../parts/notice.js';
import { COMMON } from '../../text/common.js';
import { PURCHASE } from '../../text/purchases.js';

const text = PURCHASE.confirm;

interface ConfirmProps {
  readonly preview: PurchasePreview;
  readonly submit: (price: string) => string;
  readonly note: string;
  readonly send: (credits: number) => Promise<Purchased>;
  readonly onBought: (bought: Purchased) => void;
  readonly onBack: () => void;
}

export function ConfirmPurchase({ preview, submit, note, send, onBought, onBack }: ConfirmProps) {
  const { price, obstacle, ends_at: endsAt } = preview;
  const act = useAct(async () => {
    try {
      onBought(await send(price.credits));
    } catch (failure) {
      throw isOutcomeUnknown(failure) ? unknownOutcome(failure) : failure;
    }
  });
  return (
    <>
      <p className="order-sentence">
        {endsAt === undefined
          ? text.what(grouped(preview.energy), span(preview.duration_sec))
          : text.more(span(preview.duration_sec))}
      </p>
      <Facts
        of={[
          [text.receiver, <Groups key="to" text={preview.receive_address} name={text.receiver} withoutCopy />],
          [text.endsAt, endsAt === undefined ? undefined : <Moment key="end" at={endsAt} clock="chain" />],
          ...(preview.items ?? []).map(
            ({ kind, charged }) => [text.items[kind], <Amount key={kind} credits={charged.credits} />] as const,
          ),
          [text.price, <Both key="price" credits={price.credits} trx={preview.price_trx} />],
          [text.burning, <Burning key="burning" of={preview} />],
          [text.after, <Amount key="after" credits={preview.balance_after.credits} isBalance />],
        ]}
      />
      {obstacle !== undefined && <Notice tone="warn">{obstacle}</Notice>}
      <Form
        act={act}
        submit={submit(usdExact(price.credits))}
        isReady={obstacle === undefined}
        beside={
          <Button variant="default" onClick={onBack}>
            {COMMON.back}
          </Button>
        }
      >
        <p className="dim">{note}</p>
      </Form>
    </>
  );
}

function Both({ credits, trx }: { readonly credits: number; readonly trx: string }) {
  return (
    <>
      <Amount credits={credits} /> <span className="dim">{assetText(trx, 'TRX')}</span>
    </>
  );
}

function Burning({ of }: { readonly of: PurchasePreview }) {
  const { burning, burning_trx: trx, expected_uses: uses } = of;
  return (
    <>
      <Amount credits={burning.credits} withoutCredits /> <span className="dim">{assetText(trx, 'TRX')}</span>
      {uses > 1 && <span className="dim"> {text.burningUses(grouped(uses))}</span>}
    </>
  );
}

/** True if the request may have bought although no answer says so. */
const isOutcomeUnknown = (failure: unknown): boolean =>
  isOffline(failure) ||
  !(failure instanceof Refusal) ||
  ['SERVICE_UNAVAILABLE', 'INTERNAL_ERROR', 'REQUEST_TIMEOUT', ''].includes(failure.code);

function unknownOutcome(failure: unknown): Refusal {
  const requestId = failure instanceof Refusal ? failure.requestId : undefined;
  return new Refusal(503, 'OUTCOME_UNKNOWN', PURCHASE.unknown, requestId, [], undefined);
}
