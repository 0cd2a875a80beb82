import type { Socket } from 'node:net';

/** The bytes that a client may still send after its last response, and the longest pause between them. */
interface Allowance {
  readonly bytes: number;
  readonly pauseMs: number;
}

const USUAL: Allowance = { bytes: 64 * 1_024 * 1_024, pauseMs: 500 };
/** For a client that was too slow: the time that its response may take to arrive. */
const AFTER_TIMEOUT: Allowance = { bytes: 0, pauseMs: 100 };
const LIMIT_MS = 5_000;

/**
 * Closes a connection although its client may still be sending. If bytes arrive at a closed socket, TCP resets the
 * connection, and the reset destroys a response that the client has not read yet. So the service reads and discards
 * further bytes, within limits, until the client closes its side (RFC 9112, 9.6).
 *
 * @param last the last bytes to write
 */
export function lingeringClose(socket: Socket, last: string, { isSlow }: { readonly isSlow: boolean }): void {
  const allowance = isSlow ? AFTER_TIMEOUT : USUAL;
  let bytes = 0;
  const deadline = setTimeout(() => socket.destroy(), LIMIT_MS);
  socket.once('close', () => clearTimeout(deadline));
  socket.setTimeout(allowance.pauseMs, () => socket.destroy());
  const discard = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes > allowance.bytes) socket.destroy();
  };
  // This listener replaces the HTTP parser. The parser stops the flow for an unread body, and only its own listener
  // starts the flow again: so the replacement follows `resume`.
  socket.once('resume', () => socket.removeAllListeners('data').on('data', discard));
  socket.end(last);
  socket.pause().resume();
}
