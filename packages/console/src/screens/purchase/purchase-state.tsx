/** Why a form cannot buy: nothing may be bought in the console yet, or the form has bought already. */
import { Button } from '@mantine/core';
import { Link } from 'wouter';
import type { PurchaseTerms } from '../../../../../src/modules/console/purchase-shapes.js';
import { usd } from '../../format/money.js';
import { Notice } from '../../parts/notice.js';
import { orderPath, pathOf, useProject } from '../../shell/project.js';
import { PURCHASE } from '../../text/purchases.js';

export function CapLeft({ terms: { cap } }: { readonly terms: PurchaseTerms }) {
  const { id } = useProject();
  if (cap !== undefined)
    return <p className="dim">{PURCHASE.capLeft(usd(cap.left.credits), usd(cap.daily.credits))}</p>;
  return (
    <Notice tone="warn" title={PURCHASE.off.title}>
      <p>
        {PURCHASE.off.lead} <Link href={pathOf(id, '/settings/project#purchases')}>{PURCHASE.off.link}</Link>
      </p>
    </Notice>
  );
}

export function AlreadyBought({ order, onAgain }: { readonly order: string; readonly onAgain: () => void }) {
  const { id } = useProject();
  const text = PURCHASE.bought;
  return (
    <>
      <Notice tone="info" title={text.title}>
        <p>{text.lead}</p>
        <p>
          <Link href={orderPath(id, order)}>{text.see}</Link>
        </p>
      </Notice>
      <div className="form-actions">
        <Button variant="default" onClick={onAgain}>
          {text.again}
        </Button>
      </div>
    </>
  );
}
