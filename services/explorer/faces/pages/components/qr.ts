import encodeQR from 'qr'
import { html, type Html } from '../../../../design/html.js'

const MARGIN = 2

/** Returns a text as a QR code, dark on light in every theme. @param name describes it for screen readers. */
export function qrCode(text: string, name: string): Html {
  const rows = encodeQR(text, 'raw', { border: MARGIN })
  // One path of horizontal lines, each through the middle of a row.
  const path = rows
    .flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${String(x)} ${String(y)}.5h1` : '')))
    .join('')
  return html`<svg
    class="qr"
    viewBox="0 0 ${rows.length} ${rows.length}"
    role="img"
    aria-label="${name}"
    shape-rendering="crispEdges"
  >
    <rect width="${rows.length}" height="${rows.length}" />
    <path d="${path}" />
  </svg>`
}
