/** A QR code as one SVG path: it loads no image and needs no inline style. */
import { encode } from 'uqr';

/** Quiet zone in modules, as the standard asks. */
const MARGIN = 4;

export function QrCode({ text, label }: { readonly text: string; readonly label: string }) {
  const { data, size } = encode(text, { border: 0 });
  const path = data
    .flatMap((row, y) =>
      row.map((isDark, x) => (isDark ? `M${(x + MARGIN).toString()} ${(y + MARGIN).toString()}h1v1h-1z` : '')),
    )
    .join('');
  const side = (size + 2 * MARGIN).toString();
  return (
    <svg className="qr" viewBox={`0 0 ${side} ${side}`} role="img" aria-label={label} shapeRendering="crispEdges">
      <rect width={side} height={side} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}
