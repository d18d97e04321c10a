/** A link as a QR code, for a room full of phones. A chunk of its own: few ask for it. */

import { useMemo } from "react";
import { qrCode } from "./qr.js";
import "./qr.css";

export default function QrCode({ link }: { link: string }) {
  const code = useMemo(() => qrCode(link), [link]);
  if (code === undefined) return <p className="panel-note">The link is too long for a QR code.</p>;
  return (
    <svg className="qr" viewBox={`0 0 ${code.side} ${code.side}`} role="img" aria-label="QR code of the link">
      <rect width="100%" height="100%" fill="#fff" />
      <path d={code.path} fill="#000" />
    </svg>
  );
}
