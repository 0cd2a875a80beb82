/** DEL and the C1 controls: `JSON.stringify` does not escape them, and some terminals execute them. */
const CONTROL = /[\u007f-\u009f]/g;
const DEL = '\u007f';

/** Escapes DEL and the C1 controls as JSON escapes the C0 controls: `\u009b`. */
export function escapeControls(text: string): string {
  // Nearly every line is plain ASCII, with as many bytes as characters. This check takes a sixth of the time.
  if (Buffer.byteLength(text) === text.length && !text.includes(DEL)) return text;
  return text.replaceAll(CONTROL, (control) => `\\u00${control.charCodeAt(0).toString(16)}`);
}
