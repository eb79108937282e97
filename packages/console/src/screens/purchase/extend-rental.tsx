/** The form that extends a running rental: the time to add, then the price, then the confirmation. */
import { Button } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type {
  ConfirmedExtension,
  Purchased,
  PurchasePreview,
  PurchaseTerms,
  WantedExtension,
} from '../../../../../src/modules/console/purchase-shapes.js';
import { useAct } from '../../api/act.js';
import { post } from '../../api/client.js';
import { useProjectData } from '../../api/project-data.js';
import { Dialog } from '../../parts/dialog.js';
import { Form } from '../../parts/form.js';
import { Loaded } from '../../parts/loaded.js';
import { useProject } from '../../shell/project.js';
import { COMMON } from '../../text/common.js';
import { PURCHASE } from '../../text/purchases.js';
import { ConfirmPurchase } from './confirm-purchase.js';
import { useFormKey } from './form-key.js';
import { AlreadyBought, CapLeft } from './purchase-state.js';
import { TimeFields, timeOf, usualTime } from './time-fields.js';

const text = PURCHASE.extend;

/** The button, and the form while the page's URL has its key. */
export function ExtendRental({ orderKey }: { readonly orderKey: string }) {
  const { key, open, close } = useFormKey('extend');
  return (
    <>
      <Button onClick={open}>{text.button}</Button>
      {key !== undefined && <ExtendDialog key={key} formKey={key} orderKey={orderKey} onClose={close} onAgain={open} />}
    </>
  );
}

interface ExtendProps {
  readonly formKey: string;
  readonly orderKey: string;
  readonly onClose: () => void;
  readonly onAgain: () => void;
}

function ExtendDialog({ formKey, orderKey, onClose, onAgain }: ExtendProps) {
  const [isConfirming, setConfirming] = useState(false);
  const terms = useProjectData<PurchaseTerms>(`/purchases?key=${formKey}`);
  return (
    <Dialog title={isConfirming ? text.confirmTitle : text.title} onClose={onClose}>
      <Loaded query={terms} lines={4}>
        {(data) =>
          data.bought === undefined ? (
            <Steps terms={data} formKey={formKey} orderKey={orderKey} onClose={onClose} onStep={setConfirming} />
          ) : (
            <AlreadyBought order={data.bought} onAgain={onAgain} />
          )
        }
      </Loaded>
    </Dialog>
  );
}

interface StepsProps extends Omit<ExtendProps, 'onAgain'> {
  readonly terms: PurchaseTerms;
  readonly onStep: (isConfirming: boolean) => void;
}

interface Asked {
  readonly wanted: WantedExtension;
  readonly preview: PurchasePreview;
}

function Steps({ terms, formKey, orderKey, onClose, onStep }: StepsProps) {
  const { id, api } = useProject();
  const cache = useQueryClient();
  const [typed, setTyped] = useState(() => usualTime(terms.durations));
  const [asked, setAsked] = useState<Asked>();
  const ask = (next: Asked | undefined) => {
    setAsked(next);
    onStep(next !== undefined);
  };
  const time = timeOf(typed);
  const act = useAct(async () => {
    if (time === undefined) return;
    const wanted: WantedExtension = { order: orderKey, ...time };
    ask({ wanted, preview: await post<PurchasePreview>(`${api}/purchases/extension/preview`, wanted) });
  });
  if (asked !== undefined) {
    return (
      <ConfirmPurchase
        preview={asked.preview}
        submit={text.submit}
        note={PURCHASE.confirm.noteExtension}
        send={async (credits) => {
          const request: ConfirmedExtension = { ...asked.wanted, key: formKey, credits };
          return post<Purchased>(`${api}/purchases/extension`, request);
        }}
        onBought={() => {
          onClose();
          void cache.invalidateQueries({ predicate: ({ queryKey }) => queryKey.includes(id) });
        }}
        onBack={() => ask(undefined)}
      />
    );
  }
  return (
    <Form
      act={act}
      submit={PURCHASE.show}
      isReady={time !== undefined}
      beside={
        <Button variant="default" onClick={onClose}>
          {COMMON.cancel}
        </Button>
      }
    >
      <CapLeft terms={terms} />
      <TimeFields label={text.added} durations={terms.durations} typed={typed} onType={setTyped} />
    </Form>
  );
}
