/** Change of one price row: input, preview of the effect, then saving with a reason. */
import { Button, Checkbox, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type {
  PriceChange,
  PriceLine,
  PricePreview,
  PriceTable,
  SavePrice,
} from '../../../../../src/modules/console/operator-shapes.js';
import { wholeTyped, type TypedAmount } from '../../../../../src/domain/typed-amount.js';
import { toJsonInteger } from '../../../../../src/domain/units.js';
import { useAct } from '../../api/act.js';
import { post } from '../../api/client.js';
import { grouped } from '../../format/money.js';
import { span } from '../../format/time.js';
import { Dialog } from '../../parts/dialog.js';
import { Form } from '../../parts/form.js';
import { COMMON } from '../../text/common.js';
import { PRICING } from '../../text/pricing.js';
import { PriceEffect } from './price-effect.js';

interface PriceDialogProps {
  /** Undefined for a new row. */
  readonly row: PriceLine | undefined;
  readonly onClose: () => void;
  readonly onSaved: () => void;
}

const HOUR_SEC = 3600n;
const LARGEST = 1_000_000_000n;

function positiveTyped(text: string): TypedAmount {
  const read = wholeTyped(text, LARGEST);
  return read.value === 0n ? { fault: 'Enter a price above 0.' } : read;
}

export function PriceDialog({ row, onClose, onSaved }: PriceDialogProps) {
  const text = PRICING.edit;
  const [preview, setPreview] = useState<PricePreview>();
  const title = row === undefined ? text.addTitle : text.title(span(row.duration_max_sec));
  return (
    <Dialog title={preview === undefined ? title : PRICING.effect.title} onClose={onClose}>
      {preview === undefined ? (
        <Typed row={row} onPreview={setPreview} onClose={onClose} />
      ) : (
        <>
          <PriceEffect preview={preview} />
          <Save preview={preview} onSaved={onSaved} onBack={() => setPreview(undefined)} />
        </>
      )}
    </Dialog>
  );
}

interface TypedProps {
  readonly row: PriceLine | undefined;
  readonly onPreview: (preview: PricePreview) => void;
  readonly onClose: () => void;
}

function Typed({ row, onPreview, onClose }: TypedProps) {
  const text = PRICING.edit;
  const [hours, setHours] = useState('');
  const [price, setPrice] = useState('');
  const [perUnit, setPerUnit] = useState('');
  const { value: duration, fault: hoursFault } = row === undefined ? positiveTyped(hours) : {};
  const { value: sunPerEnergy, fault: priceFault } = positiveTyped(price);
  const { value: sunPerBandwidth, fault: perUnitFault } = perUnit === '' ? {} : wholeTyped(perUnit, LARGEST);
  const durationSec =
    row?.duration_max_sec ?? (duration === undefined ? undefined : toJsonInteger(duration * HOUR_SEC));
  const show = async (change: PriceChange) =>
    onPreview(await post<PricePreview>('/api/operator/prices/preview', change));
  const act = useAct(async () => {
    if (durationSec === undefined || sunPerEnergy === undefined) return;
    await show({
      duration_max_sec: durationSec,
      sun_per_energy: toJsonInteger(sunPerEnergy),
      ...(sunPerBandwidth !== undefined && { sun_per_bandwidth: toJsonInteger(sunPerBandwidth) }),
    });
  });
  const remove = useAct(async () => {
    if (durationSec !== undefined) await show({ duration_max_sec: durationSec });
  });
  const under = {
    isUnderWay: act.isUnderWay || remove.isUnderWay,
    failure: act.failure ?? remove.failure,
    run: act.run,
  };
  return (
    <Form
      act={under}
      submit={text.preview}
      isReady={durationSec !== undefined && sunPerEnergy !== undefined && perUnitFault === undefined}
      beside={
        <>
          <Button variant="default" onClick={onClose}>
            {COMMON.cancel}
          </Button>
          {row !== undefined && (
            <button type="button" className="link-button" onClick={() => remove.run()}>
              {text.remove}
            </button>
          )}
        </>
      }
    >
      {row === undefined && (
        <TextInput
          label={text.hours}
          inputMode="numeric"
          autoComplete="off"
          autoFocus
          required
          value={hours}
          error={hours !== '' && hoursFault}
          onChange={(event) => setHours(event.currentTarget.value)}
        />
      )}
      <TextInput
        label={text.price}
        {...(row !== undefined && { description: text.priceHelp(grouped(row.sun_per_energy)), autoFocus: true })}
        inputMode="numeric"
        autoComplete="off"
        required
        value={price}
        error={price !== '' && priceFault}
        onChange={(event) => setPrice(event.currentTarget.value)}
      />
      <TextInput
        label={text.bandwidth}
        description={
          row?.sun_per_bandwidth === undefined ? text.bandwidthNone : text.bandwidthHelp(grouped(row.sun_per_bandwidth))
        }
        inputMode="numeric"
        autoComplete="off"
        value={perUnit}
        error={perUnitFault}
        onChange={(event) => setPerUnit(event.currentTarget.value)}
      />
    </Form>
  );
}

interface SaveProps {
  readonly preview: PricePreview;
  readonly onSaved: () => void;
  readonly onBack: () => void;
}

function Save({ preview, onSaved, onBack }: SaveProps) {
  const text = PRICING.save;
  const cache = useQueryClient();
  const [reason, setReason] = useState('');
  const [isForced, setForced] = useState(false);
  const { change, before_sun_per_energy: before, before_sun_per_bandwidth: perUnit, doubts } = preview;
  const hasDoubts = doubts.length > 0;
  const act = useAct(async () => {
    const request: SavePrice = {
      ...change,
      reason: reason.trim(),
      ...(hasDoubts && { force: true }),
      ...(before !== undefined && { before_sun_per_energy: before }),
      ...(perUnit !== undefined && { before_sun_per_bandwidth: perUnit }),
    };
    cache.setQueryData(['prices'], await post<PriceTable>('/api/operator/prices', request));
    onSaved();
  });
  return (
    <Form
      act={act}
      submit={change.sun_per_energy === undefined ? text.remove : text.submit}
      isDangerous={change.sun_per_energy === undefined}
      isReady={reason.trim() !== '' && (!hasDoubts || isForced)}
      beside={
        <Button variant="default" onClick={onBack}>
          {COMMON.back}
        </Button>
      }
    >
      {hasDoubts && (
        <Checkbox label={text.force} checked={isForced} onChange={(event) => setForced(event.currentTarget.checked)} />
      )}
      <TextInput
        label={text.reason}
        description={text.reasonHelp}
        required
        autoComplete="off"
        maxLength={200}
        value={reason}
        onChange={(event) => setReason(event.currentTarget.value)}
      />
    </Form>
  );
}
