import type { Socket } from 'node:net';

/** How much a client may still send after its last answer, for how long, and with which pauses. */
const LIMIT_BYTES = 64 * 1_024 * 1_024;
const LIMIT_MS = 5_000;
const PAUSE_LIMIT_MS = 500;
/** For one that is not waited for: as long as its answer may take to arrive. */
const SHORT_PAUSE_LIMIT_MS = 100;

/**
 * Ends a connection whose client may still be sending. Bytes that meet a closed socket make TCP reset the connection,
 * and the reset destroys an answer that the client has not read yet. So what still comes is read and thrown away, in
 * bounds, until the client has ended its side (RFC 9112, 9.6).
 *
 * @param last what is still to be written
 * @param limitBytes how much is read; 0 for a client that is not waited for
 */
export function lingeringClose(socket: Socket, last: string, limitBytes = LIMIT_BYTES): void {
  let bytes = 0;
  const deadline = setTimeout(() => socket.destroy(), LIMIT_MS);
  socket.once('close', () => clearTimeout(deadline));
  socket.setTimeout(limitBytes === 0 ? SHORT_PAUSE_LIMIT_MS : PAUSE_LIMIT_MS, () => socket.destroy());
  const discard = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes > limitBytes) socket.destroy();
  };
  // Takes the place of the HTTP parser, which sees nothing more; but only the parser's own listener starts the flow
  // again where it has stopped it for a body that nobody reads.
  socket.once('resume', () => socket.removeAllListeners('data').on('data', discard));
  socket.end(last);
  socket.pause().resume();
}
